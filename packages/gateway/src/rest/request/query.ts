/** Queries (RFC 3986 section 3.4) of `name=value` pairs. */
import { FieldViolation } from "../../codec/violation.ts";

/** No real query has more; parsing it would only cost time. */
const parametersMax = 1000;

/**
 * Parses a query without losing anything.
 *
 * @param query Raw, without the `?`.
 * @returns the names, and the values still encoded: what `+` means depends on the field.
 * @throws {FieldViolation} for percent-encoding that is not UTF-8.
 */
export function parseQuery(query: string): readonly (readonly [name: string, raw: string])[] {
  if (query === "") return [];
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length > parametersMax) {
    throw new FieldViolation("", `must not have more than ${parametersMax} query parameters`);
  }
  return pairs.map((pair) => {
    const equals = pair.indexOf("=");
    const [name, raw] = equals < 0 ? [pair, ""] : [pair.slice(0, equals), pair.slice(equals + 1)];
    return [decodeForm(name), raw];
  });
}

/** Decodes as forms encode: `+` is a space. @throws {FieldViolation} */
export function decodeForm(text: string): string {
  return decodePlain(text.replaceAll("+", " "));
}

/** Decodes as RFC 3986 encodes: `+` is a `+`. @throws {FieldViolation} */
export function decodePlain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new FieldViolation("", "has a query that is not percent-encoded UTF-8", { cause });
  }
}

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
