/** Calls of REST: a route for every `google.api.http` binding. */
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import { telling } from "../codec/json-messages.ts";
import { errorResponse, rendered, restErrorFrom } from "../errors/http.ts";
import { bytesOf } from "../http/body.ts";
import { headerOf } from "../http/exchange.ts";
import { withoutLength } from "../http/headers.ts";
import { Call, noTrailer, type StreamWire } from "../rpc/call.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { type Face, methodNotAllowed, type Route } from "../rpc/face.ts";
import { assertServed, type RestSettings } from "./options.ts";
import { createNameMatcher } from "./request/bind.ts";
import { createReader, type Rest, readMessages } from "./request/request.ts";
import { bodyTypesOf, updateMaskOf } from "./request/update-mask.ts";
import { type AnswerCoding, chooseCodings } from "./response/answer-coding.ts";
import { httpBodyOf, messageResponse, messageText, takeStatus } from "./response/response.ts";
import { RouteTable } from "./routing/route-table.ts";
import { isHttpBody } from "./rule/http-body.ts";
import { bindingsOf, ofRule, RuleError, selectorOf } from "./rule/rule.ts";
import { chooseStreamFormat, eventId, type StreamFormat } from "./stream/stream-format.ts";

/** @throws {RuleError} for an invalid rule; a TypeError for an invalid option. */
export function createRest(
  endpoints: readonly Endpoint[],
  prefix: string,
  settings: RestSettings,
  codings: readonly AnswerCoding[],
): Face {
  const table = new RouteTable<RestRoute>();
  const methods = endpoints.map(({ spec }) => spec.method);
  const rpcPaths = new Set(endpoints.map(({ rpc }) => rpc.requestPath));
  assertServed(settings, methods);
  const { ignoreUnknownFields, int64, ignoreQueryParameters, fillUpdateMask } = settings;
  const ignoresParameter = createNameMatcher(ignoreQueryParameters);
  const allow = (path: string) => [...table.methodsOf(path.slice(prefix.length)).keys()].sort();
  for (const { spec, options } of endpoints) {
    const jsonOptions = { ...options.jsonOptions, ignoreUnknownFields, int64 };
    const writerOptions = telling(jsonOptions, options.onUnknownType);
    const answerCodings = chooseCodings(codings, options.acceptCompression);
    const status = settings.statuses[selectorOf(spec.method)] ?? 200;
    for (const binding of bindingsOf(spec.method, settings)) {
      if (spec.kind === "bidi_streaming") continue; // rejected by bindingsOf
      const { method, template } = binding;
      const path = template.text;
      const { input, output } = spec.method;
      const isRead = binding.body !== undefined && isHttpBody(input, binding.body);
      const updateMask = fillUpdateMask ? updateMaskOf(input, binding) : undefined;
      const rest: Rest = {
        ...{ spec, options, prefix, binding, settings, jsonOptions, writerOptions, status },
        ...{ answerCodings, ignoresParameter, updateMask, bodyTypes: bodyTypesOf(updateMask) },
        isHttpBody: { request: isRead, answer: isHttpBody(output, binding.responseBody) },
      };
      ofRule(settings, () => {
        const route = createRoute(rest, allow);
        if (!rpcPaths.has(path) && table.add(method, template, route)) return;
        throw new RuleError(spec.method, `${method} ${path} is bound already`);
      });
    }
  }
  return {
    entries: [],
    match(method, path) {
      const found = table.match(method, path);
      if (found !== undefined) return found;
      const [other] = table.methodsOf(path).values();
      return other && methodNotAllowed(other);
    },
  };
}

/** As the standard of server-sent events advises. */
export const commentMs = 15_000;

const terms = { protocol: "rest", timeout: "connect-timeout-ms", parseTimeout } as const;

interface Stream {
  readonly format: StreamFormat;
  index: number;
}

type RestRoute = Route & StreamWire<Stream | undefined>;

function createRoute(rest: Rest, allow: Route["allow"]): RestRoute {
  const { spec, options, binding, isHttpBody, settings, jsonOptions, status } = rest;
  const { renderError } = settings;
  const { method } = spec;
  const isStream = spec.kind === "server_streaming" && !isHttpBody.answer;
  const route: RestRoute = {
    ...{ protocol: "rest", terms, spec, options, method, pathTemplate: binding.template.text },
    ...{ header: {}, trailer: noTrailer, allow, read: createReader(rest) },
    open(exchange, values) {
      if (!isStream) return new Call(route, exchange, values);
      const format = chooseStreamFormat(headerOf(exchange, "accept"), settings.streamFormat);
      return new Call(route, exchange, values, { parts: { format, index: 0 } });
    },
    readAll: ({ exchange }) => readMessages(rest, exchange),
    write: (call, message) => messageResponse(rest, message, call),
    fail: (call, error) => errorResponse(error, { renderError, ...jsonOptions }, call),
    // The type of a google.api.HttpBody is in its first message.
    needsMessage: ({ parts: stream }) => stream === undefined,
    // Proxies close a connection on which nothing moves, often after 60 s.
    quiet({ parts: stream }) {
      const comment = stream?.format.comment;
      if (comment === undefined) return undefined;
      return { chunk: bytesOf(comment), everyMs: commentMs };
    },
    head({ responseHeader, parts: stream }, first) {
      if (stream !== undefined) {
        const { contentType, header } = stream.format;
        const own = withoutLength(responseHeader.toNode());
        return { status, header: { ...own, ...header, "content-type": contentType } };
      }
      const taken = takeStatus(responseHeader, status, { mayBeEmpty: false });
      const type = first === undefined ? "" : httpBodyOf(rest, first).contentType;
      if (type !== "") responseHeader.set("content-type", type);
      return { status: taken, header: withoutLength(responseHeader.toNode()) };
    },
    chunk({ parts: stream }, message) {
      if (stream === undefined) return httpBodyOf(rest, message).data;
      const id = eventId(settings.eventIdField, method.output, message);
      return bytesOf(stream.format.message(messageText(rest, message), stream.index++, id));
    },
    end({ exchange, responseTrailer, parts: stream }, failure) {
      // Over HTTP/1.1, proxies and clients break on fields that they do not expect: RFC 9110 section 6.5.1.
      const takes = exchange.isDuplex || /\btrailers\b/i.test(headerOf(exchange, "te") ?? "");
      const hasNone = responseTrailer.source === noTrailer || !takes;
      const trailer = hasNone ? {} : { trailer: responseTrailer.toNode() };
      if (stream === undefined) return failure === undefined ? trailer : undefined;
      const { format, index } = stream;
      if (failure === undefined) return { ...trailer, body: bytesOf(format.close(index)) };
      const restError = restErrorFrom(failure.error, jsonOptions.registry);
      const last = format.error(JSON.stringify(rendered(renderError(restError)).body), index);
      return { ...trailer, body: bytesOf(last), error: restError.error };
    },
  };
  return route;
}
