/** Calls of REST: a route for every `google.api.http` binding. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import { telling } from "../codec/json-messages.ts";
import { errorResponse, restErrorFrom } from "../errors/http-error.ts";
import {
  type Ending,
  type Exchange,
  type Head,
  headerOf,
  type Response,
} from "../http/exchange.ts";
import { type NodeHeaders, withoutLength } from "../http/headers.ts";
import {
  Call,
  type Failure,
  headDelayMs,
  type Message,
  noTrailer,
  type Quiet,
  type StreamWire,
} from "../rpc/call.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { type Face, methodNotAllowed, type Route } from "../rpc/face.ts";
import { assertServed, type RestSettings } from "./options.ts";
import { createNameMatcher } from "./request/bind.ts";
import { createReader, readMessages } from "./request/request.ts";
import { bodyTypesOf, updateMaskOf } from "./request/update-mask.ts";
import { type AnswerCoding, chooseCodings } from "./response/answer-coding.ts";
import { httpBodyOf, messageResponse, messageText, takeStatus } from "./response/response.ts";
import type { Rest } from "./routing/route.ts";
import { RouteTable } from "./routing/route-table.ts";
import { isHttpBody } from "./rule/http-body.ts";
import { bindingsOf, ofRule, RuleError, selectorOf } from "./rule/rule.ts";
import { chooseStreamFormat, eventId, type StreamFormat } from "./stream/stream-format.ts";

/**
 * Serves every `google.api.http` binding of the endpoints.
 * @throws {RuleError} for an invalid rule; a TypeError for an invalid option.
 */
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
        const route = new RestRoute(rest, allow);
        if (!rpcPaths.has(path) && table.add(method, template, route)) return;
        throw new RuleError(spec.method, `${method} ${path} is bound already`);
      });
    }
  }
  return {
    name: "rest",
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
const commentMs = 15_000;

const noHeader: NodeHeaders = {};

const terms = { protocol: "rest", timeout: "connect-timeout-ms", parseTimeout } as const;

interface Stream {
  readonly format: StreamFormat;
  index: number;
}

class RestRoute implements Route, StreamWire<Stream | undefined> {
  readonly protocol = "rest";
  readonly terms = terms;
  readonly spec: Rest["spec"];
  readonly options: Rest["options"];
  readonly method: DescMethod;
  readonly pathTemplate: string;
  readonly header = noHeader;
  readonly trailer = noTrailer;
  readonly allow: Route["allow"];
  readonly read: ReturnType<typeof createReader>;
  readonly #rest: Rest;

  constructor(rest: Rest, allow: Route["allow"]) {
    this.spec = rest.spec;
    this.options = rest.options;
    this.method = rest.spec.method;
    this.pathTemplate = rest.binding.template.text;
    this.allow = allow;
    this.read = createReader(rest);
    this.#rest = rest;
  }

  open(exchange: Exchange, values: ContextValues | undefined): Call<Stream | undefined> {
    const { settings, isHttpBody } = this.#rest;
    if (this.spec.kind !== "server_streaming" || isHttpBody.answer) {
      return new Call(this, exchange, values);
    }
    const format = chooseStreamFormat(headerOf(exchange, "accept"), settings.streamFormat);
    return new Call(this, exchange, values, { parts: { format, index: 0 } });
  }

  readAll({ exchange }: RestCall): AsyncIterable<Message> {
    return readMessages(this.#rest, exchange);
  }

  write(call: RestCall, message: Message): Response | Promise<Response> {
    return messageResponse(this.#rest, message, call);
  }

  fail(call: RestCall, error: unknown): Response {
    const { jsonOptions, settings } = this.#rest;
    const { renderError } = settings;
    return errorResponse(error, { renderError, ...jsonOptions }, call);
  }

  /** The type of a google.api.HttpBody is in its first message. */
  headDelayMs({ parts: stream }: RestCall): number | undefined {
    return stream && headDelayMs;
  }

  /** Proxies close a connection on which nothing moves, often after 60 s. */
  quiet({ parts: stream }: RestCall): Quiet | undefined {
    const comment = stream?.format.comment;
    return comment === undefined ? undefined : { chunk: utf8.encode(comment), everyMs: commentMs };
  }

  head({ responseHeader, parts: stream }: RestCall, first: Message | undefined): Head {
    const { status: usual } = this.#rest;
    if (stream !== undefined) {
      const { contentType, header } = stream.format;
      const own = withoutLength(responseHeader.toNode());
      return { status: usual, header: { ...own, ...header, "content-type": contentType } };
    }
    const status = takeStatus(responseHeader, usual, { mayBeEmpty: false });
    const type = first === undefined ? "" : httpBodyOf(this.#rest, first).contentType;
    if (type !== "") responseHeader.set("content-type", type);
    return { status, header: withoutLength(responseHeader.toNode()) };
  }

  chunk({ parts: stream }: RestCall, message: Message): Uint8Array {
    if (stream === undefined) return httpBodyOf(this.#rest, message).data;
    const { settings, spec } = this.#rest;
    const id = eventId(settings.eventIdField, spec.method.output, message);
    const text = messageText(this.#rest, message);
    return utf8.encode(stream.format.message(text, stream.index++, id));
  }

  end(
    { exchange, responseTrailer, parts: stream }: RestCall,
    failure: Failure | undefined,
  ): Ending | undefined {
    // Over HTTP/1.1, proxies and clients break on fields that they do not expect: RFC 9110 section 6.5.1.
    const takes = exchange.isDuplex || /\btrailers\b/i.test(headerOf(exchange, "te") ?? "");
    const hasNone = responseTrailer.source === noTrailer || !takes;
    const trailer = hasNone ? {} : { trailer: responseTrailer.toNode() };
    if (stream === undefined) return failure === undefined ? trailer : undefined;
    const { format, index } = stream;
    if (failure === undefined) return { ...trailer, body: utf8.encode(format.close(index)) };
    const restError = restErrorFrom(failure.error, this.#rest.jsonOptions.registry);
    const { body } = this.#rest.settings.renderError(restError);
    const last = format.error(JSON.stringify(body), index);
    return { ...trailer, body: utf8.encode(last), error: restError.error };
  }
}

type RestCall = Call<Stream | undefined>;

const utf8 = new TextEncoder();
