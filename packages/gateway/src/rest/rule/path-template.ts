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

  /** Consumes the match of a sticky pattern. */
  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const [match] = pattern.exec(text) ?? [];
    at += match?.length ?? 0;
    return match;
  }

  function takeLiteral(): string {
    // RFC 3986 section 3.3, without the characters that have a meaning in templates.
    const literal = take(/(?:[\w.~!$&'()+,;=@-]|%[\dA-Fa-f]{2})+/y) ?? fail("expected a segment");
    try {
      return decodeURIComponent(literal);
    } catch {
      return fail("a percent-encoding is not UTF-8");
    }
  }

  function takeSegments(inVariable: boolean): void {
    do {
      if (segments.at(-1)?.kind === "rest") fail("nothing may follow **");
      if (take(/\*\*/y)) segments.push({ kind: "rest" });
      else if (take(/\*/y)) segments.push({ kind: "any" });
      else if (!inVariable && take(/\{/y)) takeVariable();
      else segments.push({ kind: "literal", value: takeLiteral() });
    } while (take(/\//y));
  }

  function takeVariable(): void {
    const start = at;
    const fieldPath: string[] = [];
    do fieldPath.push(take(/[A-Za-z_]\w*/y) ?? fail("expected a field name"));
    while (take(/\./y));
    if (variables.some((other) => other.fieldPath.join(".") === fieldPath.join("."))) {
      at = start;
      fail(`${fieldPath.join(".")} stands twice`);
    }
    const from = segments.length;
    if (take(/=/y)) takeSegments(true);
    else segments.push({ kind: "any" });
    if (!take(/\}/y)) fail('expected "}"');
    variables.push({ fieldPath, from, to: segments.length });
  }

  if (!take(/\//y)) fail('expected "/"');
  if (at < text.length) takeSegments(false); // the root has no segments
  const verb = take(/:/y) && takeLiteral();
  if (at < text.length) fail(`unexpected ${JSON.stringify(text[at])}`);
  return { text, segments, variables, verb };
}

export function segmentsOf(path: string): string[] {
  return path === "/" ? [] : path.slice(1).split("/");
}

/** The same for a path that matches, without the verb. */
export function segmentsIn(path: string, { verb }: PathTemplate): string[] {
  return segmentsOf(verb === undefined ? path : path.slice(0, path.lastIndexOf(":")));
}

/**
 * The text captured by a variable, from the raw segments of a path; undefined if it is not UTF-8. As
 * in google/api/http.proto, one of several segments keeps `%2F`: its slashes are those of the path.
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
