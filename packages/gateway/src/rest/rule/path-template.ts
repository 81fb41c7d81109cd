/** Path templates, exactly as in google/api/http.proto. */

export type Segment =
  | { readonly kind: "literal"; readonly value: string }
  /** `*`: any one segment. */
  | { readonly kind: "any" }
  /** `**`: all segments to the end, or none. */
  | { readonly kind: "rest" };

/** `{field.path=pattern}`: the part of the path that sets a field of the request. */
export interface Variable {
  readonly fieldPath: readonly string[];
  /** The segments `[from, to)` of the template. */
  readonly from: number;
  readonly to: number;
}

export interface PathTemplate {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly variables: readonly Variable[];
  /** The text after the last `:`; undefined without one. */
  readonly verb: string | undefined;
}

/**
 * Parses a template:
 *
 *     Template = "/" [ Segments [ Verb ] ] ;
 *     Segments = Segment { "/" Segment } ;
 *     Segment  = "*" | "**" | LITERAL | Variable ;
 *     Variable = "{" FieldPath [ "=" Segments ] "}" ;
 *     FieldPath = IDENT { "." IDENT } ;
 *     Verb     = ":" LITERAL ;
 * @throws {SyntaxError} that begins with the column, from 1.
 */
export function parsePathTemplate(text: string): PathTemplate {
  const segments: Segment[] = [];
  const variables: Variable[] = [];
  let at = 0;

  function fail(reason: string): never {
    throw new SyntaxError(`column ${at + 1}: ${reason}`);
  }

  function take(token: string): boolean {
    if (!text.startsWith(token, at)) return false;
    at += token.length;
    return true;
  }

  function expect(token: string): void {
    if (!take(token)) fail(`expected ${JSON.stringify(token)}`);
  }

  /** Consumes the match of a sticky pattern, which matches at least one character. */
  function takeMatch(pattern: RegExp, what: string): string {
    pattern.lastIndex = at;
    const [match] = pattern.exec(text) ?? [];
    if (match === undefined) fail(`expected ${what}`);
    at += match.length;
    return match;
  }

  function takeLiteral(): string {
    // RFC 3986 section 3.3, without the characters that have a meaning in templates.
    return decodeLiteral(takeMatch(/(?:[\w.~!$&'()+,;=@-]|%[\dA-Fa-f]{2})+/y, "a segment"));
  }

  function takeSegments(inVariable: boolean): void {
    do {
      if (segments.at(-1)?.kind === "rest") fail("nothing may follow **");
      if (take("**")) segments.push({ kind: "rest" });
      else if (take("*")) segments.push({ kind: "any" });
      else if (!inVariable && take("{")) takeVariable();
      else segments.push({ kind: "literal", value: takeLiteral() });
    } while (take("/"));
  }

  function takeVariable(): void {
    const start = at;
    const fieldPath = [takeMatch(/[A-Za-z_]\w*/y, "a field name")];
    while (take(".")) fieldPath.push(takeMatch(/[A-Za-z_]\w*/y, "a field name"));
    if (variables.some((other) => other.fieldPath.join(".") === fieldPath.join("."))) {
      at = start;
      fail(`${fieldPath.join(".")} stands twice`);
    }
    const from = segments.length;
    if (take("=")) takeSegments(true);
    else segments.push({ kind: "any" });
    expect("}");
    variables.push({ fieldPath, from, to: segments.length });
  }

  expect("/");
  if (at < text.length) takeSegments(false); // the root has no segments
  const verb = take(":") ? takeLiteral() : undefined;
  if (at < text.length) fail(`unexpected ${JSON.stringify(text[at])}`);
  return { text, segments, variables, verb };

  function decodeLiteral(literal: string): string {
    try {
      return decodeURIComponent(literal);
    } catch {
      return fail("a percent-encoding is not UTF-8");
    }
  }
}

export function segmentsOf(path: string): string[] {
  return path === "/" ? [] : path.slice(1).split("/");
}

/** The same for a path that matches, without the verb. */
export function segmentsIn(path: string, { verb }: PathTemplate): string[] {
  return segmentsOf(verb === undefined ? path : path.slice(0, path.lastIndexOf(":")));
}

/**
 * The text captured by a variable, from the raw segments of a path without the verb. As in
 * google/api/http.proto, a variable of one segment is decoded completely. One of several keeps
 * `%2F`, so that its slashes are those of the path.
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
