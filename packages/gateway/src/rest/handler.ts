import type { DescMethod } from "@bufbuild/protobuf";
import { telling } from "../codec/json-writer.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import type { RenderError } from "./error.ts";
import { assertServed, type RestSettings } from "./options.ts";
import { createNameMatcher } from "./request/query.ts";
import { bodyTypesOf, updateMaskOf } from "./request/update-mask.ts";
import { type AnswerCoding, chooseCodings } from "./response/answer-coding.ts";
import { deprecationHeader } from "./response/deprecation.ts";
import { pagesOf } from "./response/next-page.ts";
import { RouteTable } from "./routing/route-table.ts";
import { bindingsOf, ofRule, RuleError, selectorOf } from "./rule/rule.ts";
import { createServe, type ServeRest } from "./wire.ts";

/** Handles the requests of a bound method and path. */
export interface RestHandler {
  readonly method: DescMethod;
  readonly pathTemplate: string;
  /** For what is wrong with a request before it is one of the method's. */
  readonly renderError: RenderError;
  readonly serve: ServeRest;
}

/**
 * The REST half of the gateway: a handler for every `google.api.http` binding of the endpoints.
 *
 * @param codings Those of the runtime for answers, in order of preference.
 * @throws {RuleError} for an invalid rule; a TypeError for an invalid option.
 */
export function createRestRoutes(
  endpoints: readonly Endpoint[],
  settings: RestSettings,
  codings: readonly AnswerCoding[],
): RouteTable<RestHandler> {
  const routes = new RouteTable<RestHandler>();
  const methods = endpoints.map(({ spec }) => spec.method);
  const rpcPaths = new Set(endpoints.map(({ rpc }) => rpc.requestPath));
  assertServed(settings, methods);
  for (const { spec, options } of endpoints) {
    const own = settings.services.get(spec.method.parent.typeName) ?? settings;
    const { ignoreUnknownFields, int64, ignoreQueryParameters } = own;
    const ignoresParameter = createNameMatcher(ignoreQueryParameters);
    const jsonOptions = { ...options.jsonOptions, ignoreUnknownFields, int64 };
    const writerOptions = telling(jsonOptions, options.onUnknownType);
    const answerCodings = chooseCodings(codings, own.answerCodings, options.acceptCompression);
    const status = settings.statuses[selectorOf(spec.method)] ?? 200;
    const header = deprecationHeader(spec.method, settings.deprecations);
    for (const binding of bindingsOf(spec.method, settings)) {
      if (spec.kind === "bidi_streaming") continue; // rejected by bindingsOf
      const { method, template } = binding;
      const path = template.text;
      const updateMask = own.fillUpdateMask ? updateMaskOf(spec.method.input, binding) : undefined;
      const handler = {
        method: spec.method,
        pathTemplate: path,
        renderError: own.renderError,
        serve: createServe({
          ...{ spec, options, binding, settings: own, jsonOptions, writerOptions, status, header },
          ...{ answerCodings, ignoresParameter, updateMask, bodyTypes: bodyTypesOf(updateMask) },
          pages: pagesOf(spec.method, binding),
        }),
      };
      ofRule(settings, () => {
        if (!rpcPaths.has(path) && routes.add(method, template, handler)) return;
        throw new RuleError(spec.method, `${method} ${path} is bound already`);
      });
    }
  }
  return routes;
}
