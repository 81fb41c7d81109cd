/** What the protocols of RPC have in common. */
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

/** An answer of HTTP alone: which protocol it is for is not known. */
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

/** The compressions of a request and of its answer, and why the first is refused. */
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

/** The same of a stream. Where only one message goes one way, it is read and written as above. */
export interface StreamWire extends UnaryWire {
  readAll(): AsyncIterable<Message>;
  /** How long the head of an answer waits for the first message; undefined if it needs that. */
  readonly headDelayMs: number | undefined;
  /** What is written while no message comes; undefined if there is no such thing. */
  readonly quiet?: Quiet | undefined;
  head(first: Message | undefined): Head;
  chunk(message: Message): Uint8Array | Promise<Uint8Array>;
  /** How it ends: by an error, if one is given. Undefined if the protocol cannot say that. */
  end(failure: Failure | undefined): Ending | Promise<Ending> | undefined;
}

/** Bytes that say nothing. */
export interface Quiet {
  readonly chunk: Uint8Array;
  readonly everyMs: number;
}

/**
 * The first message may still change the head of an answer, but a client may send nothing before it
 * has the head. So it waits for a second.
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
