import type { PathTemplate, Variable } from "../rule/path-template.ts";

/**
 * The text captured by a variable of a template.
 *
 * As in google/api/http.proto: a variable of one segment is decoded completely. A variable of
 * several keeps `%2F`, so that its slashes are those of the path.
 *
 * @param segments The raw segments of the path.
 * @returns undefined if the percent-encoding is not valid UTF-8.
 */
export function captureVariable(
  template: PathTemplate,
  { from, to }: Variable,
  segments: readonly string[],
): string | undefined {
  const isOpen = template.segments[to - 1]?.kind === "rest";
  const raw = segments.slice(from, isOpen ? segments.length : to).join("/");
  const isMulti = isOpen || to - from > 1;
  try {
    if (!isMulti) return decodeURIComponent(raw);
    const parts = raw.split(/(%2F)/i); // the odd ones are the separators
    return parts.map((part, i) => (i % 2 === 1 ? part : decodeURIComponent(part))).join("");
  } catch {
    return undefined;
  }
}
