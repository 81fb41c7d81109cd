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
import type { HeaderRecord } from "../http/headers.ts";
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
import { messageText } from "./response/message-text.ts";
import {
  errorResponse,
  httpBodyOf,
  isHttpBodyRoute,
  messageResponse,
} from "./response/response.ts";
import { takeStatus } from "./response/success-status.ts";
import type { Route, Target } from "./routing/route.ts";
import { eventId } from "./stream/event-id.ts";
import { chooseStreamFormat, type StreamFormat } from "./stream/stream-format.ts";

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
  #stream: MessageWriter | undefined;

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
    return this.#writer.comment === undefined ? headDelayMs : sseDelayMs;
  }

  /** Proxies close a connection on which nothing moves, often after 60 s. */
  get quiet(): Quiet | undefined {
    const chunk = this.#isRaw ? undefined : this.#writer.comment;
    const { streamCommentMs } = this.#route.settings;
    return chunk && streamCommentMs > 0 ? { chunk, everyMs: streamCommentMs } : undefined;
  }

  get #isRaw(): boolean {
    return isHttpBodyRoute(this.#route);
  }

  head(first: Message | undefined): Head {
    const { context } = this.#parts;
    const { responseHeader } = context;
    const status = this.#isRaw
      ? takeStatus(responseHeader, this.#route.status, { mayBeEmpty: false })
      : this.#route.status;
    const type = first && this.#isRaw ? httpBodyOf(this.#route, first).contentType : "";
    if (type !== "") context.responseHeader.set("content-type", type);
    const { "content-length": _length, ...own } = context.responseHeader.toNode();
    return { status, header: this.#isRaw ? own : { ...own, ...this.#writer.header } };
  }

  chunk(message: Message): Uint8Array {
    if (this.#isRaw) return httpBodyOf(this.#route, message).data;
    return this.#writer.message(messageText(this.#route, message), eventId(this.#route, message));
  }

  end(failure: Failure | undefined): Ending | undefined {
    const trailer = this.#trailer();
    if (this.#isRaw) return failure === undefined ? trailer : undefined;
    if (failure === undefined) return { ...trailer, body: this.#writer.end() };
    const restError = restErrorFrom(failure.error, this.#route.jsonOptions.registry);
    const { body } = this.#route.settings.renderError(restError);
    const last = this.#writer.end(JSON.stringify(body));
    return { ...trailer, body: last, error: restError.error };
  }

  #trailer(): Ending {
    const trailer = this.#parts.context.responseTrailer.toNode();
    return trailer === noTrailer ? {} : { trailer };
  }

  get #writer(): MessageWriter {
    const { settings } = this.#route;
    const accept = headerOf(this.#parts.exchange, "accept");
    this.#stream ??= new MessageWriter(chooseStreamFormat(accept, settings.streamFormat));
    return this.#stream;
  }
}

/** Writes messages in one of the formats for streams. */
class MessageWriter {
  readonly #format: StreamFormat;
  #prefix: string;
  #index = 0;

  constructor(format: StreamFormat) {
    this.#format = format;
    this.#prefix = format.open;
  }

  get header(): HeaderRecord {
    return { ...this.#format.header, "content-type": this.#format.contentType };
  }

  get comment(): Uint8Array | undefined {
    return this.#format.comment === undefined ? undefined : utf8.encode(this.#format.comment);
  }

  message(json: string, id: string | undefined): Uint8Array {
    return this.#take(this.#format.message(json, this.#index++, id));
  }

  /** @param error Its JSON, if the stream ends by one. */
  end(error?: string): Uint8Array {
    const { close } = this.#format;
    return this.#take(error === undefined ? close : this.#format.error(error, this.#index));
  }

  #take(text: string): Uint8Array {
    const bytes = utf8.encode(this.#prefix + text);
    this.#prefix = "";
    return bytes;
  }
}

const utf8 = new TextEncoder();
