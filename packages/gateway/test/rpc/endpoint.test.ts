/** Options of a service for REST. Those for RPC are compared with connect-es by test/differential. */

import { gzipSync } from "node:zlib";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { collectEndpoints } from "../../src/rpc/endpoint.ts";
import { type EveryField, FieldService } from "../gen/library/v1/fields_pb.ts";
import { openGateway } from "../support/gateway.ts";
import { openLibraryOf } from "../support/library.ts";

const ran: string[] = [];
const gate = (name: string, refuses = false) => ({
  requestGate() {
    ran.push(name);
    if (refuses) throw new ConnectError(name, Code.Unauthenticated);
  },
});
const interceptors = (...names: readonly string[]) => ({
  interceptors: names.map(
    (name): Interceptor =>
      (next) =>
      (request) => {
        ran.push(name);
        return next(request);
      },
  ),
});
const aborted = AbortSignal.abort(new ConnectError("over", Code.Unavailable));
const gzip = { acceptCompression: [compressionGzip] };
const echo = (message: EveryField, { signal }: HandlerContext) => {
  signal.throwIfAborted();
  return message;
};
const noRpc = { grpc: false, connect: false };
const plain = '{"string":"a"}';
const long = JSON.stringify({ string: "a".repeat(100) });
const packed = gzipSync(plain);

type Row = [
  what: string,
  router: ConnectRouterOptions,
  own: ConnectRouterOptions | undefined,
  body: string | Uint8Array,
  status: number,
  ran?: readonly string[],
];

test.each<Row>([
  ["an interceptor", interceptors("a"), undefined, plain, 200, ["a"]],
  ["others instead", interceptors("a"), interceptors("b", "c"), plain, 200, ["b", "c"]],
  ["a gate", gate("a"), undefined, plain, 200, ["a"]],
  ["another gate instead", gate("a"), gate("b", true), plain, 401, ["b"]],
  ["a shutdown", { shutdownSignal: aborted }, undefined, plain, 503],
  ["readMaxBytes", { readMaxBytes: 50 }, undefined, long, 413],
  ["a larger one", { readMaxBytes: 50 }, { readMaxBytes: 500 }, long, 200],
  ["gzip", gzip, undefined, packed, 200],
  ["no gzip", gzip, { acceptCompression: [] }, packed, 415],
  ["no RPC but gRPC-Web", noRpc, undefined, plain, 200],
  ["a required header of Connect", { requireConnectProtocolHeader: true }, {}, plain, 200],
  ...["acceptCompression", "readMaxBytes", "interceptors", "jsonOptions"].map(
    (name): Row => [`no ${name}`, gzip, { [name]: undefined }, plain, 200],
  ),
])("%s", async (_what, router, own, body, status, expected = []) => {
  ran.length = 0;
  await using gateway = await openGateway({
    ...router,
    routes: (routes) => routes.service(FieldService, { echo }, own),
  });
  const coding = body === packed ? { "content-encoding": "gzip" } : {};
  const headers = { "content-type": "application/json", ...coding };
  const answer = await gateway.send({ path: "/v1/fields", headers, body });
  expect([answer.status, ran]).toEqual([status, expected]);
});

test("options that leave no protocol are refused, as in connect-es", () => {
  const none = { grpc: false, grpcWeb: false, connect: false };
  const refused = "cannot create handler, all protocols are disabled";
  for (const [router, own] of [
    [none, undefined],
    [{}, none],
  ] as const) {
    const routes = (given: ConnectRouter) =>
      given.service(FieldService, {}, own as ConnectRouterOptions);
    expect(() => collectEndpoints(router, routes)).toThrow(refused);
    expect(() => routes(createConnectRouter(router))).toThrow(refused);
  }
});

test("routes keep `this` of an implementation that is a class, and lack what it does not implement", async () => {
  class Library {
    readonly #count = 9007199254740993n;
    countBooks() {
      return { count: this.#count };
    }
  }
  await using gateway = await openLibraryOf(new Library());
  const headers = { "content-type": "application/json" };
  const send = (method: string) =>
    gateway.send({ path: `/library.v1.LibraryService/${method}`, headers, body: "{}" });
  expect(`${(await send("CountBooks")).body}`).toBe('{"count":"9007199254740993"}');
  expect(await send("GetLibrary")).toMatchObject({ status: 501 });
});

test("registered routes can be read from the router, with the protocols that connect-es has", () => {
  const own: ConnectRouterOptions = { grpcWeb: false };
  const routes = (router: ConnectRouter) => router.service(FieldService, {}, own);
  const read = ({ handlers }: ConnectRouter) =>
    handlers.map(({ method, protocolNames }) => [method.name, ...protocolNames]);
  const stock = read(routes(createConnectRouter({ grpc: false })));
  collectEndpoints({ grpc: false }, (router) => expect(read(routes(router))).toEqual(stock));
});

test("a GET of Connect is for unary methods alone", async () => {
  const idempotency = MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  const repeat = { ...FieldService.method.repeat, idempotency } as const;
  await using gateway = await openGateway({
    routes: (router) => router.rpc(repeat, () => expect.unreachable()),
  });
  const path = "/library.v1.FieldService/Repeat?encoding=json&message=%7B%7D";
  const { status, headers } = await gateway.send({ method: "GET", path });
  expect([status, headers.get("allow")]).toEqual([405, "POST"]);
});
