import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import { telling } from "../codec/json-writer.ts";
import {
  type Ending,
  type Exchange,
  type Head,
  headerOf,
  type Response,
} from "../http/exchange.ts";
import { withoutLength } from "../http/headers.ts";
import { serveCall } from "../rpc/call.ts";
import { CallContext, noTrailer } from "../rpc/context.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import {
  type Failure,
  headDelayMs,
  type Message,
  type Quiet,
  type StreamWire,
} from "../rpc/protocol.ts";
import { type RenderError, restErrorFrom } from "./error.ts";
import { assertServed, deprecationHeader, type RestSettings } from "./options.ts";
import { createNameMatcher } from "./request/bind.ts";
import { readMessage, readMessages } from "./request/request.ts";
import { bodyTypesOf, updateMaskOf } from "./request/update-mask.ts";
import { type AnswerCoding, chooseCodings } from "./response/answer-coding.ts";
import { pagesOf } from "./response/next-page.ts";
import {
  errorResponse,
  httpBodyOf,
  messageResponse,
  messageText,
  takeStatus,
} from "./response/response.ts";
import type { Route, Target } from "./routing/route.ts";
import { RouteTable } from "./routing/route-table.ts";
import { isHttpBody } from "./rule/http-body.ts";
import { bindingsOf, ofRule, RuleError, selectorOf } from "./rule/rule.ts";
import { chooseStreamFormat, eventId, type StreamFormat } from "./stream/stream-format.ts";

interface RestHandler {
  readonly method: DescMethod;
  readonly pathTemplate: string;
  /** For errors of a request before its method is known. */
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
      const { input, output } = spec.method;
      const isRead = binding.body !== undefined && isHttpBody(input, binding.body);
      const updateMask = own.fillUpdateMask ? updateMaskOf(input, binding) : undefined;
      const handler = {
        method: spec.method,
        pathTemplate: path,
        renderError: own.renderError,
        serve: createServe({
          ...{ spec, options, binding, settings: own, jsonOptions, writerOptions, status, header },
          ...{ answerCodings, ignoresParameter, updateMask, bodyTypes: bodyTypesOf(updateMask) },
          isHttpBody: { request: isRead, answer: isHttpBody(output, binding.responseBody) },
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

type ServeRest = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
  target: Target,
) => Promise<void>;

/** A page shows nothing of an EventSource before the head has come. */
const sseDelayMs = 100;

function createServe(route: Route): ServeRest {
  const { spec, options } = route;
  return (exchange, contextValues, target) => {
    const timeout = parseTimeout(headerOf(exchange, "connect-timeout-ms"), options.maxTimeoutMs);
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName: "rest",
      timeoutMs: timeout.timeoutMs,
      shutdownSignal: options.shutdownSignal,
      contextValues,
      responseHeader: route.header,
      responseTrailer: noTrailer,
    });
    const wire = new RestWire(route, { exchange, context, target }, timeout.error);
    return serveCall(route, { exchange, context, wire });
  };
}

interface Parts {
  readonly exchange: Exchange;
  readonly context: CallContext;
  readonly target: Target;
}

class RestWire implements StreamWire {
  readonly #route: Route;
  readonly #parts: Parts;
  readonly refusal: ConnectError | undefined;
  #chosen: StreamFormat | undefined;
  #index = 0;

  constructor(route: Route, parts: Parts, refusal: ConnectError | undefined) {
    this.#route = route;
    this.#parts = parts;
    this.refusal = refusal;
  }

  read(): Promise<Message> {
    return readMessage(this.#route, this.#parts.exchange, this.#parts.target);
  }

  readAll(): AsyncIterable<Message> {
    return readMessages(this.#route, this.#parts.exchange, this.#parts.target);
  }

  write(message: Message): Response | Promise<Response> {
    return messageResponse(this.#route, message, this.#parts.context);
  }

  fail(error: unknown): Response {
    const { settings, jsonOptions } = this.#route;
    const { renderError } = settings;
    return errorResponse(error, { renderError, ...jsonOptions }, this.#parts.context);
  }

  /** The type of a google.api.HttpBody is in its first message. */
  get headDelayMs(): number | undefined {
    if (this.#isRaw) return undefined;
    return this.#format.comment === undefined ? headDelayMs : sseDelayMs;
  }

  /** Proxies close a connection on which nothing moves, often after 60 s. */
  get quiet(): Quiet | undefined {
    const comment = this.#isRaw ? undefined : this.#format.comment;
    const { streamCommentMs: everyMs } = this.#route.settings;
    return comment && everyMs > 0 ? { chunk: utf8.encode(comment), everyMs } : undefined;
  }

  get #isRaw(): boolean {
    return this.#route.isHttpBody.answer;
  }

  get #format(): StreamFormat {
    const accept = headerOf(this.#parts.exchange, "accept");
    this.#chosen ??= chooseStreamFormat(accept, this.#route.settings.streamFormat);
    return this.#chosen;
  }

  head(first: Message | undefined): Head {
    const { responseHeader } = this.#parts.context;
    const status = this.#isRaw
      ? takeStatus(responseHeader, this.#route.status, { mayBeEmpty: false })
      : this.#route.status;
    const type = first && this.#isRaw ? httpBodyOf(this.#route, first).contentType : "";
    if (type !== "") responseHeader.set("content-type", type);
    const own = withoutLength(responseHeader.toNode());
    if (this.#isRaw) return { status, header: own };
    const { contentType, header } = this.#format;
    return { status, header: { ...own, ...header, "content-type": contentType } };
  }

  chunk(message: Message): Uint8Array {
    if (this.#isRaw) return httpBodyOf(this.#route, message).data;
    const { settings, spec } = this.#route;
    const id = eventId(settings.eventIdField, spec.method.output, message);
    return utf8.encode(this.#format.message(messageText(this.#route, message), this.#index++, id));
  }

  end(failure: Failure | undefined): Ending | undefined {
    const { responseTrailer } = this.#parts.context;
    const sent = responseTrailer.toNode();
    const trailer = sent === noTrailer ? {} : { trailer: sent };
    if (this.#isRaw) return failure === undefined ? trailer : undefined;
    if (failure === undefined) {
      return { ...trailer, body: utf8.encode(this.#format.close(this.#index)) };
    }
    const restError = restErrorFrom(failure.error, this.#route.jsonOptions.registry);
    const { body } = this.#route.settings.renderError(restError);
    const last = this.#format.error(JSON.stringify(body), this.#index);
    return { ...trailer, body: utf8.encode(last), error: restError.error };
  }
}

const utf8 = new TextEncoder();
