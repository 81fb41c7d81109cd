/**
 * Paths of OpenAPI. Their parameters are single segments without patterns: `/v1/{name=shelves/*}`
 * becomes `/v1/shelves/{shelf}`.
 */
import type { Segment, Variable } from "../../rest/rule/path-template.ts";
import type { Binding } from "../../rest/rule/rule.ts";

type BoundVariable = Binding["variables"][number];

export interface PathParameter {
  readonly name: string;
  /**
   * What it captures: the whole value of a variable, one of its segments, the rest of the path, or
   * a segment that belongs to no variable.
   */
  readonly kind: "whole" | "part" | "rest" | "unbound";
  readonly variable: BoundVariable | undefined;
}

export interface OpenApiPath {
  readonly path: string;
  /** Equal for paths that differ only in the names of parameters. */
  readonly shape: string;
  readonly parameters: readonly PathParameter[];
}

/** @param rests How many segments of a `**` it has. */
export function createOpenApiPath({ template, variables }: Binding, rests = 1): OpenApiPath {
  const { verb } = template;
  const segments = template.segments.flatMap((segment): Segment[] =>
    segment.kind === "rest" ? Array.from({ length: rests }, () => segment) : [segment],
  );
  const parameters: PathParameter[] = [];
  const printed = segments.map((segment, i) => {
    if (segment.kind === "literal") return encode(segment.value);
    const at = Math.min(i, template.segments.length - 1); // a `**` is the last
    const variable = variables.find(({ from, to }) => from <= at && at < to);
    const kind = kindOf(segment, variable);
    const name = uniqueName(parameters, nameOf(kind, variable, segments[i - 1]));
    parameters.push({ name, kind, variable });
    return `{${name}}`;
  });
  const path = `/${printed.join("/")}${verb === undefined ? "" : `:${encode(verb)}`}`;
  return { path, shape: path.replaceAll(/\{[^}]*\}/g, "{}"), parameters };
}

/** The same path, with the parameter names of another path of the same shape. */
export function withNames({ parameters }: OpenApiPath, other: OpenApiPath): OpenApiPath {
  const renamed = parameters.map((parameter, i) => ({
    ...parameter,
    name: other.parameters[i]?.name ?? parameter.name,
  }));
  return { ...other, parameters: renamed };
}

function kindOf(segment: Segment, variable: Variable | undefined): PathParameter["kind"] {
  if (segment.kind === "rest") return "rest";
  if (variable === undefined) return "unbound";
  return variable.to - variable.from === 1 ? "whole" : "part";
}

function nameOf(
  kind: PathParameter["kind"],
  variable: Variable | undefined,
  before: Segment | undefined,
): string {
  const field = variable?.fieldPath.join("_") ?? "segment";
  if (kind === "whole" || kind === "rest" || before?.kind !== "literal") return field;
  const word = before.value.replaceAll(/[^A-Za-z0-9]+/g, "_").replaceAll(/^_|_$/g, "");
  const isCollection = /^[A-Za-z]/.test(word) && !/^v\d/.test(word); // and not a version
  return isCollection ? singularOf(word) : field;
}

function uniqueName(parameters: readonly PathParameter[], wanted: string): string {
  const names = new Set(parameters.map(({ name }) => name));
  let name = wanted;
  for (let i = 2; names.has(name); i++) name = `${wanted}_${i}`;
  return name;
}

/** Escapes braces, which OpenAPI reserves for parameters. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("*", "%2A");
}

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
function singularOf(plural: string): string {
  const [, before = "", word = ""] = /^(.*?)([A-Z]?[a-z0-9]*)$/.exec(plural) ?? [];
  const known = irregular[word.toLowerCase()];
  if (known !== undefined) return before + (word[0] ?? "") + known.slice(1);
  if (/[^aeiou]ies$/.test(word)) return `${before}${word.slice(0, -3)}y`;
  if (/(ss|sh|ch|x|zz)es$/.test(word)) return before + word.slice(0, -2);
  return before + (/[^su]s$/.test(word) ? word.slice(0, -1) : word);
}
