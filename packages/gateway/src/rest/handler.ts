import type { DescMethod } from "@bufbuild/protobuf";
import type { Endpoint } from "../protocols/endpoint.ts";
import { readLimits } from "./body.ts";
import type { RestSettings } from "./options.ts";
import { printPathTemplate } from "./path-template.ts";
import type { Route } from "./route.ts";
import { RouteTable } from "./route-table.ts";
import { assertSelectors, bindingsOf, RuleError } from "./rule.ts";
import { createStreamHandler, type RestStreamHandler } from "./stream.ts";
import { createUnaryHandler, type RestUnaryHandler } from "./unary.ts";

/** What serves the requests to a bound method and path. */
export type RestHandler = {
  readonly method: DescMethod;
  readonly pathTemplate: string;
} & (
  | { readonly kind: "unary"; readonly serve: RestUnaryHandler }
  | { readonly kind: "stream"; readonly serve: RestStreamHandler }
);

/**
 * The REST half of the gateway: a handler for every `google.api.http` binding
 * of the endpoints.
 *
 * @throws {RuleError}
 */
export function createRestRoutes(
  endpoints: readonly Endpoint[],
  settings: RestSettings,
): RouteTable<RestHandler> {
  const routes = new RouteTable<RestHandler>();
  const rpcPaths = new Set(endpoints.map(({ rpc }) => rpc.requestPath));
  const { ignoreUnknownFields, int64 } = settings;
  assertSelectors(
    settings.rules,
    endpoints.map(({ spec }) => spec.method),
  );
  for (const { spec, options } of endpoints) {
    const jsonOptions = { ...options.jsonOptions, ignoreUnknownFields, int64 };
    for (const binding of bindingsOf(spec.method, settings.rules)) {
      if (spec.kind === "bidi_streaming") continue; // bindingsOf has refused it
      const { method, template } = binding;
      const path = printPathTemplate(template);
      const route = { spec, options, binding, settings, jsonOptions };
      const handler = createHandler({ ...route, readLimits: readLimits(options) });
      if (rpcPaths.has(path) || !routes.add(method, template, handler)) {
        throw new RuleError(spec.method, `${method} ${path} is bound already`);
      }
    }
  }
  return routes;
}

function createHandler(route: Route): RestHandler {
  const { spec, binding } = route;
  const common = { method: spec.method, pathTemplate: printPathTemplate(binding.template) };
  return spec.kind === "unary"
    ? { kind: "unary", ...common, serve: createUnaryHandler(route, spec) }
    : { kind: "stream", ...common, serve: createStreamHandler(route, spec) };
}
