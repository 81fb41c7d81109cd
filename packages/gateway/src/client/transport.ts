import { type OutgoingHttpHeaders, sensitiveHeaders } from "node:http2";
import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
} from "@bufbuild/protobuf";
import type { ContextValues, StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { readMaxValuesDefault } from "../codec/decode.ts";
import { LazyHeaders, toNodeHeaders, withoutConnection } from "../http/headers.ts";
import type { Cancellation } from "../rpc/call.ts";
import { methodNameOf } from "../rpc/call-names.ts";
import { compressionGzip } from "../rpc/compression.ts";
import { EnvelopeReader, readEnvelopes } from "../rpc/envelope.ts";
import { assertOptions, optionKinds, timerMaxMs } from "../rpc/options.ts";
import { createMethodCodec, type ReadLimits } from "./answer.ts";
import { Attempt, callStream, callUnary, receive } from "./attempt.ts";
import { CallDeadline } from "./call-deadline.ts";
import { Channel } from "./channel.ts";
import type { ClientTls } from "./guarded-socket.ts";
import { holdBody, keepMessages, type Messages } from "./messages.ts";

export interface GrpcTransportOptions {
  /** `http://HOST:PORT` (HTTP/2 in plaintext) or `https://`, both with an optional path, or `unix:PATH`. */
  readonly url: string;
  /** The `:authority`. Default: the host and port of the URL; `localhost` for a socket. */
  readonly authority?: string | undefined;
  /** Called for each connection, so that renewed certificates are used. Default: Node's trusted ones. */
  readonly tls?: () => ClientTls;
  /** Called for each call: headers that replace the caller's, such as an API key. In lower case. */
  readonly header?: () => Readonly<Record<string, string>>;
  /** The largest message of an answer, in bytes. Default: 4 MiB, as in gRPC. */
  readonly readMaxBytes?: number;
  /** The most values that it may have, as in the gateway's `MessageLimits`. Default: 262,144. */
  readonly readMaxValues?: number;
  /**
   * How long a server may be silent while it owes an answer, in ms. It is then asked whether it is
   * alive, and has as long to reply. Opening a connection may take as long. Default: 5 s.
   */
  readonly quietMsMax?: number;
  /** The `user-agent`. Default: `connect-gateway`. */
  readonly userAgent?: string;
}

const kinds = optionKinds<GrpcTransportOptions>()({
  string: "url authority userAgent",
  function: "tls header",
  "positive number": "readMaxBytes readMaxValues quietMsMax",
});

/** A call is sent again if it was certainly not processed (RFC 9113, 8.7), and what was sent is kept. */
const triesMax = 3;

/** Creates a gRPC transport. A unary call takes a sixth of the CPU of connect-node's. */
export function openGrpcTransport(options: GrpcTransportOptions): GrpcTransport {
  assertOptions("openGrpcTransport", options, kinds, ["url"]);
  return new GrpcTransport(options);
}

/** For `createClient` of Connect. It connects with the first call, and keeps connections until `close`. */
export class GrpcTransport implements Transport {
  readonly #channel: Channel;
  readonly #limits: ReadLimits;
  readonly #basePath: string;
  readonly #userAgent: string;
  readonly #header: GrpcTransportOptions["header"];
  readonly #authority: string;
  readonly #listeners = new Set<() => void>();

  constructor(options: GrpcTransportOptions) {
    const { url, tls = () => ({}) } = options;
    const quietMsMax = Math.min(options.quietMsMax ?? 5000, timerMaxMs);
    const { readMaxBytes = 4 * 1024 * 1024, readMaxValues = readMaxValuesDefault } = options;
    // As in gRPC's naming: `unix:PATH`, or `unix://` and an absolute path.
    const [, socketPath] = /^unix:(?:\/\/(?=\/))?(.+)$/s.exec(url) ?? [];
    const parsed = URL.parse(socketPath === undefined ? url : "http://localhost");
    if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
      throw new TypeError(`openGrpcTransport.url must be of http, https or unix: ${url}`);
    }
    const { origin, pathname } = parsed;
    const onDisconnect = () => {
      for (const listener of this.#listeners) listener();
    };
    this.#channel = new Channel({ origin, socketPath, tls, quietMsMax, onDisconnect });
    this.#limits = { readMaxBytes, readMaxValues };
    this.#basePath = pathname.replace(/\/$/, "");
    this.#userAgent = options.userAgent ?? "connect-gateway";
    this.#header = options.header;
    // Node's own lacks the brackets of an IPv6 address.
    this.#authority = options.authority ?? new URL(origin).host;
  }

  /** Calls a function each time a connection takes no more calls. @returns ends that. */
  readonly onDisconnect = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Closes the connections, and aborts the calls on them. */
  close(): void {
    this.#channel.close();
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    cancellation: Cancellation | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
    values?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const codec = createMethodCodec(method.input, method.output);
    const body = codec.serialize(input);
    const deadline = new CallDeadline(timeoutMs, cancellation);
    try {
      const holding = cancellation?.holding;
      const room = holdBody(body, holding);
      if (room !== undefined) await room;
      if (holding !== undefined) holding.isCalling = true;
      const call = (one: Attempt) => callUnary(one, body, this.#limits.readMaxBytes, holding);
      const { head, trailer, ...answer } = await this.#try(method, header, deadline, call);
      const reading = codec.reading(head, this.#limits, values);
      const reader = new EnvelopeReader(reading, holding, answer.body.length);
      void reader.push(answer.body); // counted already
      return {
        stream: false,
        ...{ service: method.parent, method },
        header: new LazyHeaders(head),
        trailer: new LazyHeaders(trailer),
        message: await reader.end(),
      };
    } finally {
      deadline.release();
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    cancellation: Cancellation | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    values?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const codec = createMethodCodec(method.input, method.output);
    const deadline = new CallDeadline(timeoutMs, cancellation);
    const holding = cancellation?.holding;
    const isOne = method.methodKind === "server_streaming";
    const messages = keepMessages(input, codec.serialize, isOne, holding);
    try {
      const call = (one: Attempt) => callStream(one, messages);
      const { attempt, head } = await this.#try(method, header, deadline, call, messages);
      messages.forget();
      if (holding !== undefined) holding.isCalling = true;
      const trailer = new LazyHeaders({});
      const body = { chunks: () => receive(attempt, trailer), holding };
      return {
        stream: true,
        ...{ service: method.parent, method },
        header: new LazyHeaders(head),
        trailer,
        message: readEnvelopes(body, codec.reading(head, this.#limits, values)),
      };
    } catch (error) {
      messages.end();
      deadline.release();
      throw error;
    }
  }

  async #try<T>(
    method: DescMethod,
    header: HeadersInit | undefined,
    deadline: CallDeadline,
    call: (attempt: Attempt) => Promise<T>,
    messages?: Messages,
  ): Promise<T> {
    // Before a place is taken, because headers that are none throw.
    const path = `${this.#basePath}/${methodNameOf(method)}`;
    const headers = this.#headers(path, header);
    for (let tries = 1; ; ) {
      if (deadline.error !== undefined) throw deadline.error;
      const connection = await this.#channel.acquire(deadline);
      if (deadline.error !== undefined || !connection.isOpen) {
        connection.vacate();
        continue;
      }
      const { remainingMs: ms } = deadline;
      if (ms !== undefined) {
        // gRPC allows at most eight digits.
        headers["grpc-timeout"] = ms < 1e8 ? `${ms}m` : `${Math.floor(ms / 1000)}S`;
      }
      const attempt = new Attempt(connection, headers, deadline);
      try {
        return await call(attempt);
      } catch (error) {
        if (tries++ === triesMax || !attempt.isUndone || messages?.areKept() === false) throw error;
      }
    }
  }

  #headers(path: string, header?: HeadersInit): OutgoingHttpHeaders {
    const given = header && (header instanceof Headers ? header : new Headers(header));
    const added = this.#header?.();
    return {
      "user-agent": this.#userAgent,
      // With lower-case names, as those that they must not replace.
      ...(given && withoutConnection(toNodeHeaders(given))),
      ...added,
      ":method": "POST",
      ":path": path,
      ":authority": this.#authority,
      host: undefined, // of the caller: servers refuse one that differs
      "content-length": undefined, // the same: they end the connection
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-accept-encoding": compressionGzip.name,
      [sensitiveHeaders]: added ? [...secrets, ...Object.keys(added)] : secrets,
    };
  }
}

/** Different callers share a connection and its header compression: RFC 7541, section 7.1. */
const secrets = ["authorization", "cookie"];
