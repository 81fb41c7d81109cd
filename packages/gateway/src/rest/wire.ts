/** Calls over REST. */
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import {
  type Ending,
  type Exchange,
  type Head,
  headerOf,
  type Response,
} from "../http/exchange.ts";
import { serveCall } from "../rpc/call.ts";
import { CallContext, noTrailer } from "../rpc/context.ts";
import {
  type Failure,
  headDelayMs,
  type Message,
  type Quiet,
  type StreamWire,
} from "../rpc/wire.ts";
import { restErrorFrom } from "./error.ts";
import { readMessage, readMessages } from "./request/request.ts";
import {
  errorResponse,
  httpBodyOf,
  isHttpBodyRoute,
  messageResponse,
  messageText,
} from "./response/response.ts";
import { takeStatus } from "./response/success-status.ts";
import type { Route, Target } from "./routing/route.ts";
import { chooseStreamFormat, eventId, type StreamFormat } from "./stream/stream-format.ts";

/** Serves one call and answers the exchange. */
export type ServeRest = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
  target: Target,
) => Promise<void>;

/** A page shows nothing of an EventSource before the head has come. */
const sseDelayMs = 100;

export function createServe(route: Route): ServeRest {
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
  /** The number of messages that are written. */
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
    return isHttpBodyRoute(this.#route);
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
    const { "content-length": _length, ...own } = responseHeader.toNode();
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
