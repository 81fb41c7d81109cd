import { type OutgoingHttpHeaders, sensitiveHeaders } from "node:http2";
import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
} from "@bufbuild/protobuf";
import type { StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import type { Holding } from "../http/body-budget.ts";
import {
  LazyHeaders,
  type NodeHeaders,
  toNodeHeaders,
  withoutConnection,
} from "../http/headers.ts";
import { EnvelopeReader, type EnvelopeReading, readEnvelopes } from "../rpc/envelope.ts";
import { assertOptions, type OptionKindsOf } from "../rpc/options.ts";
import type { Cancellation } from "../rpc/signal.ts";
import { Attempt } from "./attempt.ts";
import { CallLimit } from "./call-limit.ts";
import { Channel } from "./channel.ts";
import type { ClientTls } from "./guarded-socket.ts";
import { acceptEncoding, MessageCodec } from "./message-codec.ts";
import { StreamCall } from "./stream-call.ts";
import { callUnary } from "./unary-call.ts";

export interface GrpcTransportOptions {
  /**
   * `http://HOST:PORT` speaks HTTP/2 at once, `https://` TLS. It may have a path. `unix:PATH` is a
   * socket of this machine.
   */
  readonly url: string;
  /** What `:authority` says. Default: the host and port of the URL; `localhost` for a socket. */
  readonly authority?: string | undefined;
  /** Called for each connection, so that renewed certificates are used. Default: what Node trusts. */
  readonly tls?: () => ClientTls;
  /** The largest message that is read of an answer, in bytes. Default: 4 MiB, as in gRPC. */
  readonly readMaxBytes?: number;
  /**
   * A server that says nothing while it owes an answer is asked after that long, and has as long to
   * answer; so long may a connection take. In ms. Default: 5 s.
   */
  readonly quietMsMax?: number;
  /** What `user-agent` says. Default: `connect-gateway`. */
  readonly userAgent?: string;
}

const optionKinds: OptionKindsOf<GrpcTransportOptions> = {
  url: "string",
  authority: "string",
  tls: "function",
  readMaxBytes: "number",
  quietMsMax: "number",
  userAgent: "string",
};

const readMaxBytesDefault = 4 * 1024 * 1024;
const quietMsMaxDefault = 5000;

/**
 * How often a call goes out, at most: again only where the server has certainly not looked at it, and
 * its one message is at hand. RFC 9113 section 8.7 has it so.
 */
const triesMax = 3;

/** Makes a transport of gRPC, over HTTP/2. A unary call takes a sixth of the CPU of connect-node's. */
export function openGrpcTransport(options: GrpcTransportOptions): GrpcTransport {
  assertOptions("openGrpcTransport", options, optionKinds);
  return new GrpcTransport(options);
}

/** What calls of one method have in common. */
interface KnownMethod<I extends DescMessage, O extends DescMessage> {
  readonly path: string;
  readonly codec: MessageCodec<I, O>;
}

/** One call, as it goes out. */
interface Outgoing {
  readonly path: string;
  readonly header: HeadersInit | undefined;
  readonly limit: CallLimit;
  readonly triesMax: number;
}

/** Sockets as in gRPC's naming: `unix:PATH`, or `unix://` and an absolute path. */
function parseTarget(url: string) {
  const [, socketPath] = /^unix:(?:\/\/(?=\/))?(.+)$/s.exec(url) ?? [];
  const { origin, pathname } = new URL(socketPath === undefined ? url : "http://localhost");
  return { origin, pathname, socketPath };
}

/**
 * Calls a server of gRPC, for `createClient` of Connect. It connects with the first call, and keeps its
 * connections until `close`.
 */
export class GrpcTransport implements Transport {
  readonly #channel: Channel;
  readonly #readMaxBytes: number;
  readonly #basePath: string;
  readonly #userAgent: string;
  readonly #authority: string | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #methods = new WeakMap<DescMethod, KnownMethod<DescMessage, DescMessage>>();

  constructor(options: GrpcTransportOptions) {
    const { origin, pathname, socketPath } = parseTarget(options.url);
    const { tls = () => ({}), quietMsMax = quietMsMaxDefault } = options;
    const onDisconnect = () => {
      for (const listener of this.#listeners) listener();
    };
    this.#channel = new Channel({ origin, socketPath, tls, quietMsMax, onDisconnect });
    this.#readMaxBytes = options.readMaxBytes ?? readMaxBytesDefault;
    this.#basePath = pathname.replace(/\/$/, "");
    this.#userAgent = options.userAgent ?? "connect-gateway";
    this.#authority = options.authority;
  }

  /** Whether a connection is open. */
  get isConnected(): boolean {
    return this.#channel.isConnected;
  }

  /**
   * Calls a function each time a connection takes no more calls, for whatever reason.
   *
   * @returns ends that.
   */
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
  ): Promise<UnaryResponse<I, O>> {
    const { path, codec } = this.#know(method);
    const body = codec.serialize(input);
    const readMaxBytes = this.#readMaxBytes;
    const limit = new CallLimit({ timeoutMs, cancellation });
    try {
      const holding = cancellation?.holding;
      const call = { body, readMaxBytes, holding };
      const { head, trailer, ...answer } = await this.#try(
        { path, header, limit, triesMax },
        (attempt) => callUnary(attempt, call),
      );
      return {
        stream: false,
        ...{ service: method.parent, method },
        header: new LazyHeaders(head),
        trailer: new LazyHeaders(trailer),
        message: await readOne(answer.body, codec.reading(head, readMaxBytes), holding),
      };
    } finally {
      limit.release();
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    cancellation: Cancellation | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
  ): Promise<StreamResponse<I, O>> {
    const { path, codec } = this.#know(method);
    const limit = new CallLimit({ timeoutMs, cancellation });
    try {
      const bodies = serializeAll(codec, input);
      // One message can be sent again, a stream cannot.
      const one =
        method.methodKind === "server_streaming" ? (await bodies.next()).value : undefined;
      const outgoing = { path, header, limit, triesMax: one === undefined ? 1 : triesMax };
      const { call, head } = await this.#try(outgoing, async (attempt) => {
        const begun = new StreamCall(attempt);
        void begun.send(one === undefined ? bodies : createAsyncIterable([one]));
        return { call: begun, head: await begun.head };
      });
      return {
        stream: true,
        ...{ service: method.parent, method },
        header: new LazyHeaders(head),
        trailer: call.trailer,
        message: readEnvelopes(
          { chunks: () => call.receive(), holding: cancellation?.holding },
          codec.reading(head, this.#readMaxBytes),
        ),
      };
    } catch (error) {
      limit.release();
      throw error;
    }
  }

  async #try<T>(
    { path, header, limit, triesMax }: Outgoing,
    run: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      if (limit.error !== undefined) throw limit.error;
      const connection = await this.#channel.acquire(limit);
      if (limit.error !== undefined) {
        connection.vacate();
        throw limit.error;
      }
      const headers = this.#headers(path, header, limit.remainingMs);
      const attempt = new Attempt(connection, headers, limit);
      try {
        return await run(attempt);
      } catch (error) {
        if (tries === triesMax || !attempt.isUndone) throw error;
      }
    }
  }

  #headers(
    path: string,
    header: HeadersInit | undefined,
    remainingMs: number | undefined,
  ): OutgoingHttpHeaders {
    return {
      "user-agent": this.#userAgent,
      ...(header !== undefined && withoutConnection(nodeHeaders(header))),
      ":method": "POST",
      ":path": path,
      ...(this.#authority !== undefined && { ":authority": this.#authority }),
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-accept-encoding": acceptEncoding,
      ...(remainingMs !== undefined && { "grpc-timeout": timeoutOf(remainingMs) }),
      [sensitiveHeaders]: secrets,
    };
  }

  #know<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
  ): KnownMethod<I, O> {
    let known = this.#methods.get(method) as KnownMethod<I, O> | undefined;
    if (known === undefined) {
      const path = `${this.#basePath}/${method.parent.typeName}/${method.name}`;
      known = { path, codec: new MessageCodec(method) };
      this.#methods.set(method, known as unknown as KnownMethod<DescMessage, DescMessage>);
    }
    return known;
  }
}

/** Calls of many share a connection, and what compresses its headers: RFC 7541, section 7.1. */
const secrets = ["authorization", "cookie"];

function nodeHeaders(header: HeadersInit): NodeHeaders {
  if (header instanceof LazyHeaders) return header.toNode();
  if (header instanceof Headers) return toNodeHeaders(header);
  return Array.isArray(header) ? toNodeHeaders(new Headers(header)) : header;
}

/** At most eight digits. */
function timeoutOf(ms: number): string {
  return ms < 1e8 ? `${ms}m` : `${Math.floor(ms / 1000)}S`;
}

function readOne<T>(
  body: Uint8Array,
  reading: EnvelopeReading<T>,
  holding: Holding | undefined,
): T | Promise<T> {
  const reader = new EnvelopeReader(reading, holding);
  reader.push(body);
  return reader.end();
}

async function* serializeAll<I extends DescMessage, O extends DescMessage>(
  codec: MessageCodec<I, O>,
  messages: AsyncIterable<MessageInitShape<I>>,
): AsyncGenerator<Uint8Array, undefined> {
  for await (const message of messages) yield codec.serialize(message);
  return undefined;
}
