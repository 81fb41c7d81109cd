/**
 * gRPC and gRPC-Web: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md and
 * PROTOCOL-WEB.md. They differ in how an answer ends.
 */
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import * as grpc from "@connectrpc/connect/protocol-grpc";
import * as grpcWeb from "@connectrpc/connect/protocol-grpc-web";
import type { Codec } from "../codec/codec.ts";
import { connectErrorFrom, encodeMessage, withTrailerMessage } from "../errors/errors.ts";
import { bytesOf, concat } from "../http/body.ts";
import type { Ending, Exchange, Response } from "../http/exchange.ts";
import { type NodeHeaders, toNodeHeaders, withoutLength } from "../http/headers.ts";
import { type Awaitable, Call, type Failure, type Message, type StreamWire } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";
import {
  base64Of,
  EnvelopeRoute,
  type EnvelopeVariant,
  wrapEnvelope,
  writeEnvelope,
} from "./envelope.ts";
import { needsDuplex, type Route } from "./face.ts";

const statusFields = ["grpc-status", "grpc-message", "grpc-status-details-bin"];

/** The trailers of a call if the application added none. */
const okTrailer = { "grpc-status": grpc.grpcStatusOk };

const terms = {
  timeout: "grpc-timeout",
  parseTimeout: grpc.parseTimeout,
  coding: "grpc-encoding",
  acceptCoding: "grpc-accept-encoding",
  answerCoding: "grpc-encoding",
};

const grpcTerms = { ...terms, protocol: "grpc" } as const;
const grpcWebTerms = { ...terms, protocol: "grpc-web" } as const;

export function grpcRoutes(endpoint: Endpoint): Iterable<readonly [string, Route]> {
  return routes(endpoint, { terms: grpcTerms, endFlag: 0 }, "application/grpc");
}

export function grpcWebRoutes(endpoint: Endpoint): Iterable<readonly [string, Route]> {
  const variant = { terms: grpcWebTerms, endFlag: grpcWeb.trailerFlag };
  return [
    ...routes(endpoint, variant, "application/grpc-web"),
    ...routes(endpoint, { ...variant, isText: true }, "application/grpc-web-text"),
  ];
}

function routes(
  endpoint: Endpoint,
  variant: Omit<EnvelopeVariant, "codec" | "contentType">,
  mediaType: string,
): readonly (readonly [string, Route])[] {
  const { binary, json } = endpoint.codecs;
  const create = (codec: Codec, contentType: string) =>
    new GrpcRoute(endpoint, { ...variant, codec, contentType });
  const proto = create(binary, `${mediaType}+proto`);
  return [
    [mediaType, proto],
    [`${mediaType}+proto`, proto],
    [`${mediaType}+json`, create(json, `${mediaType}+json`)],
  ];
}

/** The answer to a request that calls nothing, in headers alone. Load balancers read the status of gRPC. */
export function trailersOnly(type: NodeHeaders[string], error: ConnectError): Response {
  const header = {
    "content-type": type,
    "grpc-status": error.code,
    "grpc-message": encodeMessage(error.rawMessage),
  };
  return { status: 200, header, body: "", error };
}

class GrpcRoute extends EnvelopeRoute implements StreamWire {
  readonly trailer = okTrailer;
  open(exchange: Exchange, values: ContextValues | undefined): Call | Response {
    // gRPC cannot say how a call went where HTTP has no trailers; gRPC-Web and Connect can.
    if (!exchange.hasTrailers && this.variant.endFlag === 0) {
      const message = "gRPC needs HTTP trailers: use gRPC-Web or Connect on this server";
      const refusal = new ConnectError(message, Code.Unimplemented);
      return new Call(this, exchange, values, { refusal });
    }
    return this.isBidi && !exchange.isDuplex ? needsDuplex() : new Call(this, exchange, values);
  }

  write(call: Call, message: Message): Awaitable<Response> {
    const envelope = writeEnvelope(call, this.variant.codec.serialize(message));
    if (envelope instanceof Promise) return envelope.then((one) => this.#respond(call, one));
    return this.#respond(call, envelope);
  }

  fail(call: Call, reason: unknown): Awaitable<Response> {
    const error = setStatus(call, reason);
    const { exchange, responseHeader, responseTrailer } = call;
    const hasHead = this.variant.endFlag !== 0 || (exchange.hasTrailers && responseHeader.hasMore);
    if (hasHead) return this.#respond(call, undefined, error);
    // Trailers-Only: clients may retry only if they got no headers before the status. As in grpc-go,
    // unless the application has set one, which they would take for a trailer.
    const fields = new Headers(responseHeader);
    mergeNonProtocolHeaders(fields, responseTrailer);
    for (const name of statusFields) {
      const value = responseTrailer.get(name);
      if (value !== null) fields.set(name, value);
    }
    return { status: 200, header: withoutLength(toNodeHeaders(fields)), body: nothing, error };
  }

  end(call: Call, failure: Failure | undefined): Ending | Promise<Ending> {
    const { endFlag, isText } = this.variant;
    const error = failure && setStatus(call, failure.error);
    if (endFlag === 0) return { trailer: withoutLength(call.responseTrailer.toNode()), error };
    const last = this.#trailerEnvelope(call);
    const end = (bytes: Uint8Array) => ({ body: isText ? base64Of(bytes) : bytes, error });
    return last instanceof Promise ? last.then(end) : end(last);
  }

  #respond(call: Call, message: Uint8Array = nothing, error?: ConnectError): Awaitable<Response> {
    const { responseHeader, responseTrailer } = call;
    if (this.variant.endFlag === 0) {
      const header = responseHeader.source ?? withoutLength(responseHeader.toNode());
      const trailer = responseTrailer.source ?? withoutLength(responseTrailer.toNode());
      return { status: 200, header, body: message, trailer, error };
    }
    const header = responseHeader.toNode();
    const trailer = this.#trailerEnvelope(call);
    const respond = (last: Uint8Array) => {
      const bytes = concat(message, last);
      const body = this.variant.isText ? base64Of(bytes) : bytes;
      // Node accepts a `Trailer` field only with chunked encoding, which it uses without a length.
      const sized = "trailer" in header ? header : { ...header, "content-length": body.length };
      return { status: 200, header: sized, body, error };
    };
    return trailer instanceof Promise ? trailer.then(respond) : respond(trailer);
  }

  /** The last envelope of gRPC-Web: the trailers as header lines. */
  #trailerEnvelope(call: Call): Uint8Array | Promise<Uint8Array> {
    const { compression, responseTrailer } = call;
    const isOk = responseTrailer.source === okTrailer;
    if (isOk && compression.response === null) return okEnvelope;
    const lines = isOk ? okLines : grpcWeb.trailerSerialize(responseTrailer);
    return writeEnvelope(call, lines, grpcWeb.trailerFlag);
  }
}

function setStatus({ responseTrailer }: Call, reason: unknown): ConnectError {
  const failure = withTrailerMessage(connectErrorFrom(reason));
  grpc.setTrailerStatus(responseTrailer, failure);
  responseTrailer.set("grpc-message", encodeMessage(failure.rawMessage));
  return failure;
}

const nothing = new Uint8Array(0);
const okLines = bytesOf(`grpc-status: ${okTrailer["grpc-status"]}\r\n`);
const okEnvelope = wrapEnvelope(grpcWeb.trailerFlag, okLines);
