/** Whether a name matches one of the patterns. */
export type MatchName = (name: string) => boolean;

/**
 * Matches names against patterns, where `*` stands for any text, including none, and every other
 * character for itself.
 *
 * @throws {TypeError} for an empty pattern.
 */
export function createNameMatcher(patterns: readonly string[]): MatchName {
  if (patterns.includes("")) throw new TypeError("rest.ignoreQueryParameters: an empty pattern");
  const all = patterns.map((pattern) => pattern.split("*"));
  return (name) => all.some((pieces) => matches(name, pieces));
}

/**
 * Searches once for each piece, because names come from strangers and may be long to cause work.
 */
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
