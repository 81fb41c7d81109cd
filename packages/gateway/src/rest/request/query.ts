/** Parses a query (RFC 3986 section 3.4) of `name=value` pairs without losing anything. */
import { FieldViolation } from "../../json/violation.ts";

/** No real query has more; parsing it would only cost time. */
const parametersMax = 1000;

/**
 * @param query Raw, without the `?`. `+` is a space.
 * @throws {FieldViolation} for percent-encoding that is not UTF-8.
 */
export function parseQuery(query: string): readonly (readonly [name: string, value: string])[] {
  if (query === "") return [];
  const pairs = query.split("&").filter((pair) => pair !== "");
  if (pairs.length > parametersMax) {
    throw new FieldViolation("", `must not have more than ${parametersMax} query parameters`);
  }
  return pairs.map((pair) => {
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    return [name, decode(equals < 0 ? "" : pair.slice(equals + 1))];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch (cause) {
    throw new FieldViolation("", "has a query that is not percent-encoded UTF-8", { cause });
  }
}
