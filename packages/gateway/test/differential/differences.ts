/**
 * Where ours deliberately is not as connect-node. docs/differences.md says it to users; guards for
 * what our side promises are here, one row each.
 */
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { expect } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { envelope } from "../support/envelope.ts";
import { type Door, isEnveloped, isGet, isGrpc, isUnary, service } from "./call.ts";
import type { Row } from "./rows.ts";
import type { App } from "./side.ts";

export interface Difference extends Row {
  readonly on: (door: Door) => boolean;
  /** What ours has, at least. */
  readonly ours: object;
}

const grpc = (door: Door) => door.protocol === "grpc" && isUnary(door);
const isGrpcStream = (door: Door) => door.protocol === "grpc" && !isUnary(door);
const web = (door: Door) => door.protocol === "grpc-web" && isUnary(door);
const connect = (door: Door) => door.protocol === "connect" && isUnary(door);
const get = (door: Door) => isGet(door);
const over =
  (version: string, way: (door: Door) => boolean) =>
  (door: Door): boolean =>
    door.http === version && way(door);
const of =
  (codec: string, way: (door: Door) => boolean) =>
  (door: Door): boolean =>
    door.codec === codec && way(door);
const post = (door: Door) => isUnary(door) && !isGet(door);
const isClientStream = (door: Door) => isEnveloped(door) && door.kind === "client_streaming";
const status = (code: Code) => ({ status: 200, headers: { "grpc-status": [`${code}`] } });

const throws = (thrown: unknown): App => ({ implement: () => Promise.reject(thrown) });
const sets = (name: string, ...values: string[]): App => ({
  implement(message, { responseHeader }) {
    for (const value of values) responseHeader.append(name, value);
    return message;
  },
});
const late: App = {
  async implement(_message, { signal }: HandlerContext) {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw new Error("app");
  },
};
const afterAMoment: App = {
  async implement(message, { signal }) {
    await pause(40);
    signal.throwIfAborted();
    return message;
  },
};
const ownHeaders: App = {
  implement: sets("x-implementation", "1").implement as NonNullable<App["implement"]>,
  acts: [
    async (next, request) => {
      const header = new Headers({ "x-own": "1" });
      return { ...(await next(request)), header, trailer: new Headers({ "x-own": "2" }) } as never;
    },
  ],
};
const broken = new ConnectError("app", Code.Aborted, undefined, [
  { desc: RetryInfoSchema, value: { retryDelay: { seconds: "x" as never } } },
]);
const packed = gzipSync("r\u0001a").subarray(0, -4);
const end = envelope("", 0x80);

export const differences: readonly Difference[] = [
  ...[
    ["POST, GET", `${service}/Echo`],
    ["POST", "/library.v1.LibraryService/UpdateLibrary"],
  ].map(([allow, path = ""]) => ({
    ...{ what: `a 405 says that ${allow} is allowed`, on: post, call: { method: "PUT", path } },
    ours: { status: 405, headers: { allow: [allow] } },
  })),
  {
    ...{ what: "two content types", on: over("1.1", connect) },
    call: { headers: { "content-type": ["application/proto", "application/json"] } },
    ours: { status: 400, seen: [] },
  },
  ...["a b", "user@host", "a:99999", ""].map((host) => ({
    ...{ what: `the host ${host}`, on: over("1.1", connect), call: { headers: { host } } },
    ours: { status: 400, seen: [] },
  })),
  {
    ...{ what: "contextValues throws", on: connect, setup: { contextValues: "throws" } as const },
    ours: { status: 500, body: "13", seen: [] },
  },
  {
    ...{ what: "a target in absolute form", on: over("1.1", connect) },
    ...{ call: { path: `http://example.test${service}/Echo` }, ours: { status: 200 } },
  },
  {
    ...{ what: "a target that is not ASCII", on: over("2", connect) },
    ...{ call: { path: `${service}/Echo?a=\u00c3\u00a9` }, ours: { status: 400, seen: [] } },
  },
  {
    ...{ what: "broken protobuf", on: of("proto", connect), call: { bytes: Buffer.of(0x72, 9) } },
    ours: { status: 400, body: "invalid_argument" },
  },
  {
    ...{ what: "gzip that is cut short", on: grpc },
    call: { headers: { "@encoding": "gzip" }, body: [envelope(packed, 1)] },
    ours: status(Code.InvalidArgument),
  },
  {
    ...{ what: "broken base64", on: get, call: { query: "encoding=proto&base64=1&message=c" } },
    ours: { status: 400 },
  },
  {
    ...{ what: "bytes in a query", on: of("proto", get) },
    call: { query: "encoding=proto&message=z%01%FF" },
    ours: { status: 200, body: "z\u0001\u00ff" },
  },
  {
    ...{ what: "an integer beyond 2^53, and -0", on: of("json", connect) },
    call: { bytes: '{"double":-0,"int64":9007199254740993}' },
    ours: { body: '{"double":-0,"int64":"9007199254740993"}' },
  },
  ...['{"int64":"0x10"}', '{"string":"\xff"}'].map((text) => ({
    ...{ what: `the JSON ${text}`, on: of("json", connect) },
    call: { bytes: Buffer.from(text, "latin1") },
    ours: { status: 400, body: "invalid_argument" },
  })),
  {
    ...{ what: "a prefix without a message", on: grpc, call: { body: [Buffer.of(0, 0, 0, 0, 5)] } },
    ours: status(Code.InvalidArgument),
  },
  {
    ...{ what: "unknown flags", on: grpc, call: { body: [envelope("", 4)] } },
    ours: status(Code.Internal),
  },
  {
    ...{ what: "two end frames", on: of("proto", web), call: { body: [end, end, envelope("")] } },
    ours: { body: [[0x80, { "grpc-status": ["3"] }]] },
  },
  {
    ...{ what: "gRPC-Web text", on: of("proto", web), ours: { status: 200 } },
    call: {
      headers: { "content-type": "application/grpc-web-text" },
      body: [Buffer.from("AAAAAAA=")],
    },
  },
  {
    ...{ what: "a path that nothing is at", on: isGrpc, call: { path: "/elsewhere" } },
    ours: status(Code.Unimplemented),
  },
  {
    ...{ what: "a 401", on: connect, app: throws(new ConnectError("app", Code.Unauthenticated)) },
    ours: { status: 401, headers: { "www-authenticate": ["Bearer"] } },
  },
  {
    ...{ what: "a deadline of 50 days", on: grpc, call: { headers: { "@timeout": "1200H" } } },
    ...{ app: afterAMoment, ours: { status: 200, trailers: { "grpc-status": ["0"] } } },
  },
  {
    ...{ what: "an Error behind the deadline", on: connect, call: { timeoutMs: 150 }, app: late },
    ours: { status: 504, body: "deadline_exceeded" },
  },
  {
    ...{ what: "undefined is thrown", on: grpc, app: throws(undefined) },
    ours: status(Code.Internal),
  },
  ...[0, 99].map((code) => ({
    ...{ what: `the code ${code}`, on: grpc, app: throws(new ConnectError("app", code)) },
    ours: status(Code.Unknown),
  })),
  {
    ...{ what: "a surrogate", on: grpc, app: throws(new ConnectError("app\ud800", Code.Aborted)) },
    ours: { headers: { "grpc-message": ["app\ufffd"] } },
  },
  {
    ...{ what: "details that are no messages", on: connect, app: throws(broken) },
    ours: { status: 500, body: "13" },
  },
  {
    ...{ what: "several values of bytes", on: post, app: sets("x-bytes-bin", "AAE", "AP8B") },
    ours: { headers: { "x-bytes-bin": ["AAE", "AP8B"] } },
  },
  {
    ...{ what: "fields of a connection", on: over("2", post), app: sets("upgrade", "a") },
    ours: { status: 200, isWhole: true },
  },
  {
    ...{ what: "a Content-Length of the application", on: over("1.1", grpc) },
    ...{ app: sets("content-length", "0"), ours: { status: 200, isWhole: true } },
  },
  {
    ...{ what: "an interceptor's own headers", on: post, app: ownHeaders },
    ours: { status: 200, headers: { "x-own": ["1"], "content-type": [expect.any(String)] } },
  },
  {
    ...{ what: "an interceptor's own trailers", on: grpc, app: ownHeaders },
    ours: { trailers: { "x-own": ["2"], "grpc-status": ["0"] } },
  },
  {
    ...{ what: "a stream whose client accepts gzip", on: isGrpcStream },
    setup: { compressMinBytes: 1 },
    call: { headers: { "@accept": "gzip", "@encoding": "identity" } },
    ours: { status: 200, body: expect.not.arrayContaining([[1, expect.anything()]]) },
  },
  {
    ...{ what: "an empty encoding", on: (door) => !isGet(door) },
    call: { headers: { "@encoding": "" } },
    ours: { status: 200, seen: expect.arrayContaining([expect.anything()]) },
  },
  ...["@timeout", "@encoding"].map((header) => ({
    what: `a client stream with a wrong ${header}`,
    ...{ on: isClientStream, call: { headers: { [header]: "x" } }, ours: { seen: [] } },
  })),
  ...[{}, { "connect-protocol-version": "2" }].map((headers) => ({
    what: `a client stream with the version ${JSON.stringify(headers)}`,
    on: (door: Door) => isClientStream(door) && door.protocol === "connect",
    ...{ setup: { requireConnectProtocolHeader: true }, call: { headers } },
    ours: { seen: [], body: [[2, "invalid_argument"]] },
  })),
];
