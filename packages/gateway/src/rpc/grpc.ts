/** The common part of gRPC and gRPC-Web: one message in an envelope each way, and a status. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import {
  grpcStatusOk,
  headerAcceptEncoding,
  parseTimeout,
  setTrailerStatus,
} from "@connectrpc/connect/protocol-grpc";
import { serveUnary, type UnaryWire } from "./call.ts";
import { CallContext } from "./context.ts";
import { connectErrorFrom } from "./outcome.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import type { Codec } from "./codec.ts";
import { readEnvelope, writeEnvelope } from "./envelope.ts";
import { createNegotiator, type Negotiated } from "./negotiation.ts";
import { withTrailerMessage } from "./trailer-message.ts";
import type { UnaryEndpoint, UnaryHandler } from "./unary.ts";

type Message = MessageShape<DescMessage>;

export interface GrpcVariant {
  readonly protocolName: string;
  /** The media type of the response. */
  readonly contentType: string;
  readonly codec: Codec;
  /** Marks envelopes of the request that contain no message; 0 for none. */
  readonly endFlag: number;
}

/**
 * The result of a call, to be written. Headers and trailers, including the status, are in the
 * context.
 */
export interface GrpcOutcome {
  readonly context: CallContext;
  /** The message in its envelope; undefined if the call failed. */
  readonly message: Uint8Array | undefined;
  /** The code of the failure; undefined for success. */
  readonly code: Code | undefined;
  /** The compression that the client requested. */
  readonly compression: Compression | null;
}

/** The trailers of a call if the application added none. */
export const okTrailer = { "grpc-status": grpcStatusOk };

/** @param respond Creates the response from the outcome. */
export function createGrpcHandler(
  endpoint: UnaryEndpoint,
  { protocolName, contentType, codec, endFlag }: GrpcVariant,
  respond: (outcome: GrpcOutcome) => Response | Promise<Response>,
): UnaryHandler {
  const { spec, options } = endpoint;
  const { readMaxBytes, maxTimeoutMs, compressMinBytes, shutdownSignal } = options;
  const method = { codec, endFlag, readMaxBytes, compressMinBytes, respond };
  const negotiate = createNegotiator(options.acceptCompression, headerAcceptEncoding);
  const plainHeader = { "content-type": contentType };
  const headers = new Map(
    options.acceptCompression.map(({ name }) => [name, { ...plainHeader, "grpc-encoding": name }]),
  );

  return (exchange, contextValues) => {
    const timeout = parseTimeout(headerOf(exchange, "grpc-timeout"), maxTimeoutMs);
    const compression = negotiate(
      headerOf(exchange, "grpc-encoding"),
      headerOf(exchange, "grpc-accept-encoding"),
    );
    const { response, error } = compression;
    const context = new CallContext({
      exchange,
      method: spec.method,
      protocolName,
      timeoutMs: timeout.timeoutMs,
      shutdownSignal,
      contextValues,
      responseHeader: (response && headers.get(response.name)) ?? plainHeader,
      responseTrailer: okTrailer,
    });
    const refusal = error ?? timeout.error;
    const call = new GrpcCall(method, { exchange, context, compression, refusal });
    return serveUnary(endpoint, exchange, context, call);
  };
}

/** The properties shared by all calls. */
interface GrpcMethod extends Pick<GrpcVariant, "codec" | "endFlag"> {
  readonly readMaxBytes: number;
  readonly compressMinBytes: number;
  readonly respond: (outcome: GrpcOutcome) => Response | Promise<Response>;
}

interface GrpcCallParts {
  readonly exchange: Exchange;
  readonly context: CallContext;
  readonly compression: Negotiated;
  /** Why to reject the call after the gate has admitted it. */
  readonly refusal: ConnectError | undefined;
}

class GrpcCall implements UnaryWire {
  readonly #method: GrpcMethod;
  readonly #parts: GrpcCallParts;

  constructor(method: GrpcMethod, parts: GrpcCallParts) {
    this.#method = method;
    this.#parts = parts;
  }

  read(): Promise<Message> {
    const { exchange, compression, refusal } = this.#parts;
    if (refusal !== undefined) throw refusal;
    const { codec, readMaxBytes, endFlag } = this.#method;
    const options = { compression: compression.request, readMaxBytes, endFlag };
    return readEnvelope(exchange, options, codec.parse);
  }

  write(message: Message): Response | Promise<Response> {
    const { codec, compressMinBytes } = this.#method;
    const { response } = this.#parts.compression;
    const written = writeEnvelope(codec.serialize(message), response, compressMinBytes);
    if (written instanceof Promise) return written.then((envelope) => this.#answer(envelope));
    return this.#answer(written);
  }

  fail(reason: unknown): Response | Promise<Response> {
    const failure = withTrailerMessage(connectErrorFrom(reason));
    setTrailerStatus(this.#parts.context.responseTrailer, failure);
    return this.#answer(undefined, failure.code);
  }

  #answer(message: Uint8Array | undefined, code?: Code): Response | Promise<Response> {
    const { context, compression } = this.#parts;
    return this.#method.respond({ context, message, code, compression: compression.response });
  }
}
