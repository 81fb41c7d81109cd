/** Answers to requests that are rejected before any handler sees them. */
import { type OutgoingHttpHeaders, STATUS_CODES } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex, Writable } from "node:stream";
import { Code } from "@connectrpc/connect";
import { protocolOf } from "../adapter/observer.ts";
import { errorResponse, RestFailure, renderConnect } from "../errors/http.ts";
import { plainAddress } from "../http/address-key.ts";
import type { Response } from "../http/exchange.ts";
import type { RequestHeaders } from "../http/headers.ts";
import { exchangeOf } from "../http/node-exchange.ts";
import type { NodeResponse } from "../http/request-exchange.ts";
import { trailersOnly } from "../rpc/grpc.ts";

const failures = {
  malformed: [400, Code.InvalidArgument, "the request is not valid HTTP/1.1"],
  tunnel: [405, Code.Unimplemented, "the method must be POST", { allow: "POST" }],
  late: [408, Code.DeadlineExceeded, "the request took too long to arrive"],
  expectation: [417, Code.InvalidArgument, "Expect must be 100-continue"],
  oversized: [431, Code.ResourceExhausted, "the request headers are too large"],
} as const satisfies Record<string, ConstructorParameters<typeof RestFailure>>;

export type AnsweredRefusal = keyof typeof failures;

/** `handshake`: of TLS, for which there is no answer. */
export type RefusalKind = AnsweredRefusal | "handshake";

export const refusalKinds = ["handshake", ...Object.keys(failures)] as readonly RefusalKind[];

/** A request, or a connection, that was rejected by the rules of HTTP. */
export interface Refusal {
  readonly kind: RefusalKind;
  readonly error: RestFailure | undefined;
  /** The HTTP status of the answer; undefined if none is possible. */
  readonly status: number | undefined;
  readonly peerAddress: string | undefined;
  /** Whether it is a call, which observers of calls see. */
  readonly isCall: boolean;
}

export type OnRefusal = (refusal: Refusal) => void;

export type Refusals = ReturnType<typeof createRefusals>;

/** @param idleTimeoutMs How long a connection may take to end. */
export function createRefusals(
  idleTimeoutMs: number,
  responseFor: (failure: RestFailure) => Response,
  onRefusal: OnRefusal,
) {
  function ofHandshake({ remoteAddress }: Socket): void {
    const nothing = { error: undefined, status: undefined, isCall: false };
    onRefusal({ kind: "handshake", peerAddress: plainAddress(remoteAddress), ...nothing });
  }

  /** Reports a refusal whose answer is sent separately. @param answer To its request, if it is part of one. */
  function report(
    kind: AnsweredRefusal,
    socket: Duplex | undefined,
    headers: RequestHeaders = {},
    { answer, canAnswer = true }: { answer?: Writable | undefined; canAnswer?: boolean } = {},
  ): Response {
    const error = new RestFailure(...(failures[kind] as ConstructorParameters<typeof RestFailure>));
    const response = answerTo(headers, error);
    const status = canAnswer ? response.status : undefined;
    const exchange = answer && exchangeOf(answer);
    exchange?.refuse({ error, status });
    const peerAddress = plainAddress((socket as Socket | undefined)?.remoteAddress);
    onRefusal({ kind, error, status, peerAddress, isCall: exchange !== undefined });
    return response;
  }

  /** Clients of RPC read most statuses of HTTP as UNKNOWN, and those of gRPC take any body for messages. */
  function answerTo(headers: RequestHeaders, error: RestFailure): Response {
    const protocol = protocolOf(headers, false);
    if (protocol.startsWith("grpc")) return trailersOnly(headers["content-type"], error);
    if (protocol === "connect") return errorResponse(error, { renderError: renderConnect });
    return responseFor(error);
  }

  function onResponse(response: NodeResponse, kind: AnsweredRefusal): void {
    const { status, header, body } = report(kind, response.req.socket, response.req.headers);
    response.writeHead(status, header as OutgoingHttpHeaders);
    response.end(body);
  }

  function onStream(stream: ServerHttp2Stream, kind: AnsweredRefusal, headers?: RequestHeaders) {
    const response = report(kind, stream.session?.socket, headers, { answer: stream });
    const { status, header, body } = response;
    stream.respond({ ":status": status, ...header }, { endStream: body === "" });
    if (body !== "") stream.end(body);
  }

  /** Answers on the socket of an HTTP/1.1 connection, and closes it. @param isHead As the method. */
  function answerOnSocket(socket: Duplex, { status, header, body }: Response, isHead: boolean) {
    const fields = Object.entries({ ...header, connection: "close" });
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines}`;
    socket.once("finish", () => closeSoon(socket));
    socket.end(`${head}\r\n${isHead ? "" : body}`);
  }

  return { idleTimeoutMs, ofHandshake, report, onResponse, onStream, answerOnSocket };
}

/** A connection that is closed at once is reset if more arrives, and its answer is lost: RFC 9112 section 9.6. */
export function closeSoon(socket: Duplex): void {
  setTimeout(() => socket.destroy(), 500).unref();
}
