/** Shared by the RPC protocols. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { compressionNegotiate } from "@connectrpc/connect/protocol";
import type { Ending, Exchange, Head, Response } from "../http/exchange.ts";
import type { NodeHeaders } from "../http/headers.ts";
import type { CallContext } from "./context.ts";

/** Serves one call and answers the exchange. Throws or rejects if not even an error can be sent. */
export type ServeRpc = (
  exchange: Exchange,
  contextValues: ContextValues | undefined,
) => Promise<void> | undefined;

export interface Protocol {
  /** The name in connect-es. */
  readonly name: "grpc" | "grpc-web" | "connect";
  readonly methods: readonly string[];
  /** @returns the handler for a media type; undefined for one of another protocol. */
  readonly handlerFor: (contentType: string, method: string) => ServeRpc | undefined;
}

/** A plain HTTP answer, because the protocol of the client is unknown. */
export function emptyResponse(
  status: number,
  error: ConnectError,
  header: NodeHeaders = {},
): Response {
  return { status, header: { ...header, "content-length": 0 }, body: "", error };
}

export function unsupportedMediaType(): Response {
  const message = "the Content-Type is not supported";
  return emptyResponse(415, new ConnectError(message, Code.InvalidArgument)); // as for REST
}

/** The compressions of a request and of its answer; `error` if the former is unknown. */
type Negotiated = ReturnType<typeof compressionNegotiate>;

/** What a wire of RPC has of its call. */
export interface Parts {
  readonly exchange: Exchange;
  readonly context: CallContext;
  readonly compression: Negotiated;
}

export type Message = MessageShape<DescMessage>;

/** How one protocol reads the request of a unary call, and writes its answer. */
export interface UnaryWire {
  /** Why to reject the call, after the gate has admitted it. */
  readonly refusal: ConnectError | undefined;
  read(): Message | Promise<Message>;
  write(message: Message): Response | Promise<Response>;
  /** The response for an error, if nothing of an answer has been sent. */
  fail(error: unknown): Response | Promise<Response>;
}

/** The same for a stream. A direction with a single message is read or written as above. */
export interface StreamWire extends UnaryWire {
  readAll(): AsyncIterable<Message>;
  /** How long the head of an answer waits for the first message, in ms; undefined if it needs that message. */
  readonly headDelayMs: number | undefined;
  /** Written while there are no messages; undefined for nothing. */
  readonly quiet?: Quiet | undefined;
  head(first: Message | undefined): Head;
  chunk(message: Message): Uint8Array | Promise<Uint8Array>;
  /** The end of the answer, with an error if there was one. Undefined if the protocol cannot report it. */
  end(failure: Failure | undefined): Ending | Promise<Ending> | undefined;
}

/** Bytes that clients ignore. */
export interface Quiet {
  readonly chunk: Uint8Array;
  readonly everyMs: number;
}

/**
 * The first message may still change the head of an answer. But some clients send nothing before
 * they have the head, so it waits for one second only.
 */
export const headDelayMs = 1000;

export interface Failure {
  readonly error: unknown;
}

export interface Call<W extends UnaryWire = UnaryWire> {
  readonly exchange: Exchange;
  readonly context: CallContext;
  readonly wire: W;
  /** Whether the gate has admitted it already. */
  readonly isAdmitted?: boolean;
}
