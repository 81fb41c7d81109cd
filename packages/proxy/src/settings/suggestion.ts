/** The known name that a misspelt one was meant to be, if one is near. In kebab-case. */
export function suggestName(misspelt: string, known: readonly string[]): string | undefined {
  const wanted = misspelt.slice(0, lengthMax);
  const near = known
    .map((name) => ({ name, distance: distanceOf(wanted, name) }))
    .filter(
      ({ name, distance }) => distance <= Math.max(1, Math.min(3, Math.floor(name.length / 3))),
    )
    .sort((one, other) => one.distance - other.distance);
  return near[0]?.name;
}

/** Longer than any name; bounds the work. */
const lengthMax = 64;

/** Words in another order are as near as in the right one: `body-max-bytes`. */
function distanceOf(one: string, other: string): number {
  return Math.min(editDistance(one, other), editDistance(sortWords(one), sortWords(other)));
}

function sortWords(name: string): string {
  return name.split("-").sort().join("-");
}

/** How many letters to insert, delete, replace or swap with their neighbour. */
function editDistance(one: string, other: string): number {
  let [beforeLast, last]: [number[], number[]] = [[], Array.from(`${other} `, (_, j) => j)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped =
        i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        at(row, j - 1) + 1,
        at(last, j) + 1,
        at(last, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, other.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
