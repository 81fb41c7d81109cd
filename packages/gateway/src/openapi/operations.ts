/** The methods that the gateway serves: their REST bindings, each with its own name. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  type Binding,
  bindingsOf,
  ofRule,
  RuleError,
  type Rules,
  selectorOf,
} from "../rest/rule/rule.ts";
import { type Named, Names } from "./components.ts";
import type { OpenApiSettings } from "./options.ts";
import { createOpenApiPath, type OpenApiPath, withNames } from "./paths/path.ts";

export interface Operation {
  readonly method: DescMethod;
  readonly binding: Binding;
  /** An OpenAPI method such as `get`, or a custom one such as `SEARCH`. */
  readonly httpMethod: string;
  readonly path: OpenApiPath;
  readonly id: string;
  /** The name of its body, if that is no message. */
  readonly bodyName: Named;
}

/** The HTTP methods that have a name in all versions of OpenAPI. 3.2 has one more. */
const known = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

/** How many segments of a `**` OpenAPI 3.1 describes: its parameters have no slashes. */
const restMax = 4;

type Settings = Pick<OpenApiSettings, "openapi" | "names" | "rest">;

/**
 * The operations of the services' methods.
 *
 * @throws {RuleError} for a rule that cannot be served, and for two operations with the same path
 * and method.
 * @throws {Error} for two services with the same name, if names are short.
 */
export function operationsOf(services: readonly DescService[], settings: Settings): Operation[] {
  const { openapi, rest } = settings;
  const methods = services.flatMap((service) => service.methods);
  const places = methods
    .filter(({ methodKind }) => methodKind !== "bidi_streaming")
    .flatMap((method) => placesOf(method, rest));
  const taken = new Set(places.map(({ path, binding }) => `${binding.method} ${path.shape}`));
  const all = openapi === "3.1" ? places.flatMap((place) => withRests(place, taken)) : places;
  const verbs = openapi === "3.1" ? known : [...known, "QUERY"];
  const open = all.flatMap((place) => withHttpMethods(place, taken));
  const names = new Names(settings.names);
  const paths = new Map<string, OpenApiPath>();
  const found = new Map<string, DescMethod>();
  const named = (place: Place): Operation => {
    const { shape } = place.path;
    const first = paths.get(shape) ?? place.path;
    paths.set(shape, first);
    const one = { ...place, path: withNames(place.path, first) };
    assertPlace(one, found);
    const { httpMethod } = place;
    const isKnown = verbs.includes(httpMethod);
    return {
      ...{ ...one, ...namesOf(place, names) },
      httpMethod: isKnown ? httpMethod.toLowerCase() : httpMethod,
    };
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

interface Place {
  readonly method: DescMethod;
  readonly binding: Binding;
  readonly path: OpenApiPath;
  readonly httpMethod: string;
  /** That of an additional binding, from 2. */
  readonly number: string;
  /** Which of several operations of one binding it is. */
  readonly suffix: string;
}

function placesOf(method: DescMethod, rules: Rules): Place[] {
  return bindingsOf(method, rules).map((binding, i) => ({
    ...{ method, binding, path: createOpenApiPath(binding), httpMethod: binding.method },
    ...{ number: i === 0 ? "" : String(i + 1), suffix: "" },
  }));
}

/** The same with more segments for its `**`, where no other binding has them. */
function withRests(place: Place, taken: ReadonlySet<string>): Place[] {
  const { binding } = place;
  if (binding.template.segments.at(-1)?.kind !== "rest") return [place];
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

function assertPlace({ method, httpMethod, path }: Place, found: Map<string, DescMethod>): void {
  const key = `${httpMethod} ${path.shape}`;
  const other = found.get(key);
  if (other !== undefined) {
    const both = `both are ${httpMethod} ${path.path}`;
    throw new RuleError(method, `OpenAPI cannot tell it from ${selectorOf(other)}: ${both}`);
  }
  found.set(key, method);
}
