/** Whether a name is one of those that patterns stand for. */
export type MatchName = (name: string) => boolean;

/**
 * Matches names against patterns in which `*` stands for any text, none too, and every other
 * character for itself.
 *
 * @throws {TypeError} for a pattern that is empty.
 */
export function createNameMatcher(patterns: readonly string[]): MatchName {
  if (patterns.includes("")) throw new TypeError("rest.ignoreQueryParameters: an empty pattern");
  const all = patterns.map((pattern) => pattern.split("*"));
  return (name) => all.some((pieces) => matches(name, pieces));
}

/** By one look for each piece: names come from strangers, and are long where that costs. */
function matches(name: string, [first = "", ...others]: readonly string[]): boolean {
  const last = others.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
