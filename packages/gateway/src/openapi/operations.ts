/** The methods that the gateway serves: their REST bindings, each with its own name. */
import type { DescField, DescMethod } from "@bufbuild/protobuf";
import type { Segment, Variable } from "../rest/rule/path-template.ts";
import {
  type Binding,
  bindingsOf,
  ofRule,
  RuleError,
  type Rules,
  selectorOf,
} from "../rest/rule/rule.ts";
import { createNames, type Named, type Names } from "./components.ts";
import type { OpenApiSettings } from "./options.ts";

/** A binding, or a part of it that OpenAPI describes by itself. */
type Place = ReturnType<typeof placesOf>[number];

/**
 * With its name, and that of its body, if that is no message. The HTTP method is one of OpenAPI, such
 * as `get`, or a custom one, such as `SEARCH`.
 */
export type Operation = Place & { readonly id: string; readonly bodyName: Named };

/** The HTTP methods that have a name in all versions of OpenAPI. 3.2 has one more. */
const known = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

/** How many segments of a `**` OpenAPI 3.1 describes: its parameters have no slashes. */
const restMax = 4;

type Settings = Pick<OpenApiSettings, "openapi" | "names" | "rest">;

/** @throws {Error} for two with one name; {RuleError} for two with one path. */
export function operationsOf(methods: readonly DescMethod[], settings: Settings): Operation[] {
  const { openapi, rest } = settings;
  const places = methods
    .filter(({ methodKind }) => methodKind !== "bidi_streaming")
    .flatMap((method) => placesOf(method, rest));
  const taken = new Set(places.map(({ path, binding }) => `${binding.method} ${path.shape}`));
  const all = openapi === "3.1" ? places.flatMap((place) => withRests(place, taken)) : places;
  const verbs = openapi === "3.1" ? known : [...known, "QUERY"];
  const open = all.flatMap((place) => withHttpMethods(place, taken));
  const names = createNames(settings.names);
  const paths = new Map<string, OpenApiPath>();
  const found = new Map<string, DescMethod>();
  const named = (place: Place): Operation => {
    const { shape } = place.path;
    const first = paths.get(shape) ?? place.path;
    paths.set(shape, first);
    const parameters = place.path.parameters.map((parameter, i) => ({
      ...parameter,
      name: first.parameters[i]?.name ?? parameter.name,
    }));
    const verb = place.httpMethod;
    const other = found.get(`${verb} ${shape}`);
    if (other !== undefined) {
      const both = `both are ${verb} ${first.path}`;
      const reason = `OpenAPI cannot tell it from ${selectorOf(other)}: ${both}`;
      throw new RuleError(place.method, reason);
    }
    found.set(`${verb} ${shape}`, place.method);
    const httpMethod = verbs.includes(verb) ? verb.toLowerCase() : verb;
    return { ...place, path: { ...first, parameters }, ...namesOf(place, names), httpMethod };
  };
  return open.flatMap((place) => ofRule(rest, () => [named(place)]) ?? []);
}

/** `BookService_GetBook`, as grpc-gateway has it. Additional bindings have a number. */
function namesOf({ method: { name, parent }, number, suffix }: Place, names: Names) {
  const own = name + number;
  const [short, full] = [`${parent.name}_${own}`, `${parent.typeName}_${own}`];
  const id = names.nameOf({ short: short + suffix, full: full + suffix });
  return { id, bodyName: { short: `${parent.name}${own}Body`, full: `${full}-Body` } };
}

function placesOf(method: DescMethod, rules: Rules) {
  return bindingsOf(method, rules).map((binding, i) => ({
    ...{ method, binding, path: createOpenApiPath(binding), httpMethod: binding.method },
    ...{ number: i === 0 ? "" : String(i + 1), suffix: "" },
  }));
}

/** The same with more segments for its `**`, if it has one, where no other binding has them. */
function withRests(place: Place, taken: ReadonlySet<string>): Place[] {
  const { binding } = place;
  const more = Array.from({ length: restMax - 1 }, (_, i) => {
    return { ...place, path: createOpenApiPath(binding, i + 2), suffix: `_${i + 2}` };
  });
  return [place, ...more.filter(({ path }) => !taken.has(`${binding.method} ${path.shape}`))];
}

/** A binding for any method gets the methods that no other binding has on its path. */
function withHttpMethods(place: Place, taken: ReadonlySet<string>): Place[] {
  const { method: verb, body } = place.binding;
  if (verb !== "*") return [place];
  const usual =
    body === undefined ? ["GET", "PUT", "POST", "DELETE", "PATCH"] : ["PUT", "POST", "PATCH"];
  return usual
    .filter((one) => !taken.has(`${one} ${place.path.shape}`))
    .map((one) => ({ ...place, httpMethod: one, suffix: `_${one.toLowerCase()}` }));
}

export interface PathParameter {
  readonly name: string;
  /** A whole variable, one of its segments, the rest of the path, or a segment of no variable. */
  readonly kind: "whole" | "part" | "rest" | "unbound";
  readonly variable: Binding["variables"][number] | undefined;
}

type OpenApiPath = ReturnType<typeof createOpenApiPath>;

/** Its shape is equal for paths that differ only in the names of parameters. @param rests Segments of a `**`. */
function createOpenApiPath({ template, variables }: Binding, rests = 1) {
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

/** Roughly, as gnostic's protoc-gen-openapi: what is irregular stays. */
function singularOf(plural: string): string {
  return plural
    .replace(/elves$/i, "elf")
    .replace(/([^aeiou])ies$/, "$1y")
    .replace(/(ss|sh|ch|x)es$/, "$1")
    .replace(/([^su])s$/, "$1");
}

/** The fields of a message that the path of a request sets. */
export type Taken = readonly (readonly DescField[])[];

/** Whether something of a field is left. Not if the path has it, or another of its oneof. */
export function isLeft(taken: Taken, field: DescField): boolean {
  return taken.every(([first, ...rest]) => {
    if (first === field) return rest.length > 0;
    return first?.oneof === undefined || first.oneof !== field.oneof;
  });
}

/** Those of the message in a field. */
export function takenWithin(taken: Taken, field: DescField): Taken {
  return taken.flatMap(([first, ...rest]) => (first === field ? [rest] : []));
}
