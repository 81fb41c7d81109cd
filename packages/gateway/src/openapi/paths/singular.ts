/** The singular of a collection's name, as in resource names: `shelf` for `shelves`. */

const irregular: Readonly<Record<string, string>> = {
  aliases: "alias",
  calves: "calf",
  children: "child",
  halves: "half",
  indices: "index",
  knives: "knife",
  leaves: "leaf",
  lives: "life",
  loaves: "loaf",
  movies: "movie",
  people: "person",
  series: "series",
  shelves: "shelf",
  species: "species",
  statuses: "status",
  vertices: "vertex",
  wolves: "wolf",
};

/** @param plural May have other words before it: `book_shelves`, `bookShelves`. */
export function singularOf(plural: string): string {
  const [, before = "", word = ""] = /^(.*?)([A-Z]?[a-z0-9]*)$/.exec(plural) ?? [];
  const known = irregular[word.toLowerCase()];
  if (known !== undefined) return before + (word[0] ?? "") + known.slice(1);
  if (/[^aeiou]ies$/.test(word)) return `${before}${word.slice(0, -3)}y`;
  if (/(ss|sh|ch|x|zz)es$/.test(word)) return before + word.slice(0, -2);
  return before + (/[^su]s$/.test(word) ? word.slice(0, -1) : word);
}
