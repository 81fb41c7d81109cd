/** The methods that the gateway serves: their REST bindings, each with its own name. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { assertSelectors, type Binding, bindingsOf, RuleError } from "../rest/rule/rule.ts";
import { chooseNames } from "./names.ts";
import { createOpenApiPath, type OpenApiPath, withNames } from "./paths/path.ts";

export interface Operation {
  readonly method: DescMethod;
  readonly binding: Binding;
  /** An OpenAPI method such as `get`, or a custom one such as `SEARCH`. */
  readonly httpMethod: string;
  readonly path: OpenApiPath;
  /** The short name, or the full name if two short ones are equal. */
  readonly id: string;
}

/** The HTTP methods in all versions of OpenAPI. */
const known = new Set(["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"]);

/**
 * The operations of the services' methods.
 *
 * @throws {RuleError} for a rule that cannot be served, for two operations with the same path and
 * method, and for an HTTP method that the OpenAPI version does not support.
 */
export function operationsOf(
  services: readonly DescService[],
  rules: readonly HttpRule[],
  openapi: "3.1" | "3.2",
): Operation[] {
  const methods = services.flatMap((service) => service.methods);
  assertSelectors(rules, methods);
  const places = methods
    .filter((method) => isServed(method, rules))
    .flatMap((method) => placesOf(method, rules));
  const taken = new Set(places.map(({ path, binding }) => `${binding.method} ${path.shape}`));
  const open = places.flatMap((place) => withHttpMethods(place, taken));
  const names = idsOf(open);
  const paths = new Map<string, OpenApiPath>();
  const found = new Map<string, DescMethod>();
  return open.map((place, i) => {
    const { shape } = place.path;
    const first = paths.get(shape) ?? place.path;
    paths.set(shape, first);
    const named = { ...place, path: withNames(place.path, first) };
    assertPlace(named, found, openapi);
    return { ...named, id: names[i] ?? place.method.name };
  });
}

/** Bidirectional streams are served only over gRPC, whatever a rule says. */
export function isServed(method: DescMethod, rules: readonly HttpRule[]): boolean {
  return method.methodKind !== "bidi_streaming" && bindingsOf(method, rules).length > 0;
}

interface Place {
  readonly method: DescMethod;
  readonly binding: Binding;
  readonly path: OpenApiPath;
}

interface OpenPlace extends Place {
  readonly httpMethod: string;
}

function placesOf(method: DescMethod, rules: readonly HttpRule[]): Place[] {
  return bindingsOf(method, rules).map((binding) => ({
    method,
    binding,
    path: createOpenApiPath(binding),
  }));
}

/** A binding for any method gets the methods that no other binding has on its path. */
function withHttpMethods(place: Place, taken: ReadonlySet<string>): OpenPlace[] {
  const { method: verb, body } = place.binding;
  if (verb !== "*") return [{ ...place, httpMethod: known.has(verb) ? verb.toLowerCase() : verb }];
  const usual =
    body === undefined ? ["GET", "PUT", "POST", "DELETE", "PATCH"] : ["PUT", "POST", "PATCH"];
  return usual
    .filter((one) => !taken.has(`${one} ${place.path.shape}`))
    .map((one) => ({ ...place, httpMethod: one.toLowerCase() }));
}

function idsOf(places: readonly OpenPlace[]): string[] {
  const counts = new Map<DescMethod, number>();
  const named = places.map(({ method }) => {
    const count = (counts.get(method) ?? 0) + 1;
    counts.set(method, count);
    const full = `${method.parent.typeName}.${method.name}`;
    if (count === 1) return { full, short: method.name };
    return { full: `${full}-${count}`, short: `${method.name}${count}` };
  });
  const names = chooseNames(named);
  return named.map(({ full }) => names.get(full) ?? full);
}

function assertPlace(
  { method, httpMethod, path, binding }: OpenPlace,
  found: Map<string, DescMethod>,
  openapi: "3.1" | "3.2",
): void {
  if (openapi === "3.1" && !known.has(httpMethod.toUpperCase())) {
    throw new RuleError(
      method,
      `OpenAPI 3.1 has no HTTP method ${binding.method}; the option openapi: "3.2" has any`,
    );
  }
  const key = `${httpMethod} ${path.shape}`;
  const other = found.get(key);
  if (other !== undefined) {
    const place = `${httpMethod.toUpperCase()} ${path.path}`;
    throw new RuleError(
      method,
      `OpenAPI cannot tell it from ${other.parent.typeName}.${other.name}: both are ${place}`,
    );
  }
  found.set(key, method);
}
