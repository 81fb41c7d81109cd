/** What gRPC and gRPC-Web have in common: one message in an envelope in, one out, and a status. */
import type { Code } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import {
  grpcStatusOk,
  headerAcceptEncoding,
  parseTimeout,
  setTrailerStatus,
} from "@connectrpc/connect/protocol-grpc";
import { serveUnary } from "./call.ts";
import { CallContext } from "./call-context.ts";
import type { Codec } from "./codec.ts";
import { readEnvelope, writeEnvelope } from "./envelope.ts";
import { headerOf, type Response } from "./exchange.ts";
import { createNegotiator } from "./negotiation.ts";
import { connectErrorFrom } from "./outcome.ts";
import type { UnaryEndpoint, UnaryHandler } from "./unary.ts";

export interface GrpcVariant {
  readonly protocolName: string;
  /** The media type of the response. */
  readonly contentType: string;
  readonly codec: Codec;
  /** Marks envelopes of the request that hold no message; 0 for none. */
  readonly endFlag: number;
}

/** What is left to write: headers and trailers, status included, are in the context. */
export interface GrpcOutcome {
  readonly context: CallContext;
  /** The message in its envelope; undefined if the call failed. */
  readonly message: Uint8Array | undefined;
  /** What has failed; undefined if nothing has. */
  readonly code: Code | undefined;
  /** The compression that the client has asked for. */
  readonly compression: Compression | null;
}

/** The trailers of a call to which the application added none. */
export const okTrailer = { "grpc-status": grpcStatusOk };

/** @param respond Makes the response of what is left to write. */
export function createGrpcHandler(
  endpoint: UnaryEndpoint,
  { protocolName, contentType, codec, endFlag }: GrpcVariant,
  respond: (outcome: GrpcOutcome) => Response | Promise<Response>,
): UnaryHandler {
  const { spec, options } = endpoint;
  const { readMaxBytes, maxTimeoutMs, compressMinBytes, shutdownSignal } = options;
  const negotiate = createNegotiator(options.acceptCompression, headerAcceptEncoding);
  const plainHeader = { "content-type": contentType };
  const headers = new Map(
    options.acceptCompression.map(({ name }) => [name, { ...plainHeader, "grpc-encoding": name }]),
  );

  return (exchange, contextValues) => {
    const timeout = parseTimeout(headerOf(exchange, "grpc-timeout"), maxTimeoutMs);
    const { request, response, error } = negotiate(
      headerOf(exchange, "grpc-encoding"),
      headerOf(exchange, "grpc-accept-encoding"),
    );
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
    const answer = (message: Uint8Array | undefined, code?: Code) =>
      respond({ context, message, code, compression: response });
    return serveUnary(endpoint, exchange, context, {
      read() {
        const refusal = error ?? timeout.error;
        if (refusal !== undefined) throw refusal;
        return readEnvelope(exchange, { compression: request, readMaxBytes, endFlag }, codec.parse);
      },
      write(message) {
        const written = writeEnvelope(codec.serialize(message), response, compressMinBytes);
        return written instanceof Promise
          ? written.then((envelope) => answer(envelope))
          : answer(written);
      },
      fail(reason) {
        const failure = connectErrorFrom(reason);
        setTrailerStatus(context.responseTrailer, failure);
        return answer(undefined, failure.code);
      },
    });
  };
}
