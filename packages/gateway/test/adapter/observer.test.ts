/** Observers are notified of every request once, with the result that its client received. */
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { Code, ConnectError, createContextKey, createContextValues } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { type CallObserver, composeObservers, type ObservedRequest } from "../../src/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { envelope } from "../support/envelope.ts";
import { addFailingServices } from "../support/failing-services.ts";
import { openGateway, type SentRequest, type TestGatewayOptions } from "../support/gateway.ts";
import { recordCalls } from "../support/recorded-calls.ts";
import { within } from "../support/within.ts";

const rpc = (method: string) => `/library.v1.LibraryService/${method}`;
const as = (type: string) => ({ "content-type": type });

function openObserved(options: Partial<TestGatewayOptions> = {}) {
  return openGateway({
    routes: addFailingServices,
    requestGate: ({ requestHeader }) => {
      if (!requestHeader.has("let-in")) throw new ConnectError("who?", Code.Unauthenticated);
    },
    ...options,
  });
}

const allowed = { "let-in": "yes" };
const json = as("application/json");
const web = "application/grpc-web+json";
const webText = "application/grpc-web-text+json";
const grpcStream = {
  path: rpc("FollowBook"),
  headers: { ...allowed, ...as("application/grpc+json") },
};
const connectStream = { ...grpcStream, headers: { ...allowed, ...as("application/connect+json") } };
const get = (path: string, headers: Record<string, string> = allowed): SentRequest => ({
  method: "GET",
  path,
  headers,
});

const send = (method: string, type: string, body: string | Uint8Array): SentRequest => ({
  ...{ path: rpc(method), headers: { ...allowed, ...as(type) }, body },
});

const calls: readonly [told: string, request: SentRequest][] = [
  ["GetLibrary rest ok", get("/v1/library")],
  ["GetLibrary connect ok", send("GetLibrary", "application/json", "{}")],
  ["GetLibrary grpc ok", send("GetLibrary", "application/grpc+json", envelope("{}"))],
  ["GetLibrary grpc-web ok", send("GetLibrary", web, envelope("{}"))],
  ["GetLibrary grpc-web ok", send("GetLibrary", webText, envelope("{}").toString("base64"))],
  // Rejected by the gate.
  ["GetLibrary rest Unauthenticated", get("/v1/library", {})],
  ["GetLibrary connect Unauthenticated", { path: rpc("GetLibrary"), headers: json, body: "{}" }],
  ["FollowBook grpc Unauthenticated", { ...grpcStream, headers: as("application/grpc") }],
  // Rejected by the implementation, or not implemented.
  ["CloseLibrary grpc-web FailedPrecondition", send("CloseLibrary", web, envelope("{}"))],
  ["UpdateLibrary connect Internal", send("UpdateLibrary", "application/json", "{}")],
  // Malformed.
  [
    "CreateShelf rest InvalidArgument",
    { ...send("", "application/json", "{"), path: "/v1/shelves" },
  ],
  [
    "GetLibrary grpc InvalidArgument",
    { ...grpcStream, path: rpc("GetLibrary"), body: envelope("{") },
  ],
  // Not a call of any method.
  ["none rest NotFound", get("/nothing/here")],
  ["none grpc Unimplemented", { path: "/nothing/here", headers: as("application/grpc") }],
  ["none grpc-web Unimplemented", { path: "/no", headers: as("application/gRPC-Web") }],
  ["none connect Unimplemented", { path: "/nothing/here", headers: as("application/proto") }],
  ["none rest Unimplemented", { method: "POST", path: "/v1/library" }],
  ["none connect Unimplemented", { method: "PUT", path: rpc("GetLibrary") }],
  ["GetLibrary connect InvalidArgument", { path: rpc("GetLibrary"), headers: as("text/plain") }],
  // Streams, until their end.
  ["FollowBook grpc ok", { ...grpcStream, body: envelope('{"title": "good"}') }],
  ["FollowBook connect ok", { ...connectStream, body: envelope('{"title": "good"}') }],
  ["FollowBook grpc DataLoss", { ...grpcStream, body: envelope('{"title": "bad"}') }],
  ["FollowBook connect DataLoss", { ...connectStream, body: envelope('{"title": "bad"}') }],
  ["FollowBook connect Internal", { ...connectStream, body: envelope('{"title": "broken"}') }],
  ["WatchVolumes rest ok", get("/v1/shelves/a/volumes:watch")],
  ["WatchVolumes rest DataLoss", get("/v1/shelves/bad/volumes:watch")],
];

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  test.each(calls)("%s is reported once (%#)", async (told, request) => {
    const observer = recordCalls();
    await using gateway = await openObserved({ observer, mayFail: told.endsWith("Internal") });
    const { headers, trailers, body } = await gateway.send({ version, ...request });
    await observer.until(1);
    await gateway.send({ version, ...get("/v1/library") });
    await observer.until(2);
    const [message] = observer.messages;
    expect(message === undefined).toBe(told.endsWith(" ok"));
    const shown = `${[...headers, ...trailers].join(" ")} ${body}`.replaceAll("%20", " ");
    // JSON and gRPC escape more; some answers have no text.
    const [start = ""] = /^[\w ]*/.exec(message ?? "") ?? [];
    if (shown.includes("essage")) expect(shown).toContain(start);
    expect(observer.ended).toEqual([told, "GetLibrary rest ok"]);
    expect(observer.underWay).toBe(0);
  });

  test("preflights and requests served by the fallback are not calls", async () => {
    const observer = recordCalls();
    await using gateway = await openObserved({
      observer,
      cors: { origins: ["*"] },
      fallback: (_, response) => {
        response.statusCode = 204;
        response.end();
      },
    });
    const headers = { origin: "http://a", "access-control-request-method": "GET" };
    const asked = await gateway.send({ version, method: "OPTIONS", path: "/v1/library", headers });
    expect(asked.status).toBe(204);
    await gateway.send({ version, path: "/nothing/here" });
    await gateway.send({ version, ...get("/v1/library") });
    await observer.until(1);
    expect(observer.ended).toEqual(["GetLibrary rest ok"]);
  });

  test("an aborted stream has the code of its error", async () => {
    const observer = recordCalls();
    await using gateway = await openObserved({ observer, mayFail: true });
    const sent = gateway.send({ version, ...get("/v1/shelves/a/volumes/1:stream") });
    await expect(sent).rejects.toThrow();
    await observer.until(1);
    expect(observer.ended).toEqual(["StreamVolume rest DataLoss"]);
  });

  test.each([
    ["a unary call", "/v1/library", "GetLibrary rest Canceled"],
    ["a stream", "/v1/shelves/a/volumes:watch", "WatchVolumes rest Canceled"],
  ])("a client that leaves has canceled, in %s", async (_what, path, told) => {
    const observer = recordCalls();
    const reached = Promise.withResolvers<void>();
    await using gateway = await openObserved({
      ...{ observer, mayFail: true },
      routes: (router) => {
        router.service(LibraryService, {
          getLibrary: async (_, { signal }) => {
            reached.resolve();
            await once(signal, "abort");
            throw signal.reason;
          },
        });
        router.service(CatalogService, {
          async *watchVolumes() {
            for (;;) {
              reached.resolve();
              yield { title: "x".repeat(100_000) };
            }
          },
        });
      },
    });
    const leave = await begin(gateway.origin(version), version, path);
    await within("the call", reached.promise);
    expect(observer.underWay).toBe(1);
    leave();
    await observer.until(1);
    expect(observer.ended).toEqual([told]);
  });

  test.each([
    ["GET of REST", get("/v1/library")],
    ["a refusal", get("/v1/library", {})],
    ["a 404", get("/nothing/here")],
    ["gRPC", { ...grpcStream, path: rpc("GetLibrary"), body: envelope("{}") }],
    ["gRPC-Web in text", send("GetLibrary", webText, "")],
    ["a stream of gRPC", { ...grpcStream, body: envelope('{"title": "good"}') }],
    ["a stream of REST", get("/v1/shelves/a/volumes:watch")],
  ])("the answer to %s has what the observer adds", async (_, request) => {
    const observer = { begin: () => ({ responseHeader: { "x-added": "yes" }, end() {} }) };
    await using gateway = await openObserved({ observer });
    const { headers } = await gateway.send({ version, ...request });
    expect(headers.get("x-added")).toBe("yes");
    expect(headers.has("content-type") || headers.get("content-length") === "0").toBe(true);
  });

  test.each([
    ["unary", get("/v1/library")],
    ["stream of REST", get("/v1/shelves/a/volumes:watch")],
    ["stream of RPC", { ...connectStream, body: envelope('{"title": "good"}') }],
  ])("the observer of a %s sees the values of the gate, and the peer", async (_, request) => {
    const key = createContextKey("nobody");
    const ended = Promise.withResolvers<string>();
    await using gateway = await openObserved({
      requestGate: ({ values }) => void values.set(key, "somebody"),
      observer: {
        begin({ peerAddress }) {
          const peer = peerAddress();
          let values = createContextValues();
          return {
            calling(given) {
              values = given;
            },
            end: () => ended.resolve(`${values.get(key)} at ${peer}`),
          };
        },
      },
    });
    await gateway.send({ version, ...request });
    expect(await within("the end", ended.promise)).toBe("somebody at 127.0.0.1");
  });

  test.each<[template: string | undefined, status: number, request: SentRequest]>([
    ["/base/v1/library", 200, get("/base/v1/library")],
    ["/base/v1/library", 401, get("/base/v1/library", {})],
    [`/base${rpc("GetLibrary")}`, 200, { ...grpcStream, path: `/base${rpc("GetLibrary")}` }],
    [`/base${rpc("GetLibrary")}`, 415, { path: `/base${rpc("GetLibrary")}`, headers: as("a/b") }],
    ["/base/v1/{parent=shelves/*}/volumes:watch", 200, get("/base/v1/shelves/a/volumes:watch")],
    [`/base${rpc("FollowBook")}`, 200, { ...grpcStream, path: `/base${rpc("FollowBook")}` }],
    [undefined, 404, get("/base/nothing/here")],
    [undefined, 405, { method: "POST", path: "/base/v1/library" }],
  ])("the observer sees the route %s, and the status %d", async (template, status, request) => {
    const ended = Promise.withResolvers<unknown>();
    await using gateway = await openObserved({
      requestPathPrefix: "/base",
      observer: {
        begin: ({ pathTemplate }) => ({
          end: ({ status }) => ended.resolve({ pathTemplate, status }),
        }),
      },
    });
    expect((await gateway.send({ version, ...request })).status).toBe(status);
    expect(await within("the end", ended.promise)).toEqual({ pathTemplate: template, status });
  });
});

test("a client that leaves before its answer is reported without a status", async () => {
  const reached = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number | undefined>();
  await using gateway = await openObserved({
    observer: { begin: () => ({ end: ({ status }) => ended.resolve(status) }) },
    requestGate: async ({ signal }) => {
      reached.resolve();
      await once(signal, "abort");
    },
  });
  const leave = await begin(gateway.origin("1.1"), "1.1", "/v1/library");
  await within("the call", reached.promise);
  leave();
  expect(await within("the end", ended.promise)).toBeUndefined();
});

test("an observer receives the values that the application gives a call", async () => {
  const key = createContextKey("nobody");
  const heard: string[] = [];
  await using gateway = await openObserved({
    contextValues: () => createContextValues().set(key, "the application"),
    observer: {
      begin: () => ({ calling: (values) => void heard.push(values.get(key)), end() {} }),
    },
  });
  await gateway.send(get("/v1/library"));
  expect(heard).toEqual(["the application"]);
});

test("an observer that throws is reported to onError, and changes nothing", async () => {
  let times = 0;
  const fail = () => {
    times++;
    throw new Error("not for clients");
  };
  for (const observer of [
    { begin: fail },
    { begin: () => ({ end: fail }) },
    { begin: () => ({ calling: fail, end: () => {} }) },
  ]) {
    await using gateway = await openObserved({ observer, mayFail: true });
    expect(await gateway.send(get("/v1/library"))).toMatchObject({ status: 200 });
    expect(gateway.errors).toHaveLength(1);
  }
  expect(times).toBe(3);
});

/** Sends a GET whose answer nobody reads. @returns a function that aborts it. */
async function begin(origin: string, version: "1.1" | "2", path: string): Promise<() => void> {
  if (version === "2") {
    const session = connectHttp2(origin);
    session.request({ ":path": path, ...allowed }).on("error", () => {});
    return () => session.destroy();
  }
  const { port } = new URL(origin);
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nLet-In: yes\r\n\r\n`);
  return () => socket.destroy();
}

/** Several observers are notified like a single one, independently of each other. */
const request: ObservedRequest = {
  method: undefined,
  pathTemplate: undefined,
  protocol: "rest",
  requestMethod: "GET",
  target: "/",
  headers: {},
  peerAddress: () => undefined,
};

const fail = () => {
  throw new Error("broken");
};

/** Records its notifications. */
function recordTold(name: string, told: unknown[]): CallObserver {
  return {
    begin({ target }) {
      told.push(`${name} begins ${target}`);
      return {
        responseHeader: { [name]: "yes", last: name },
        calling: (values) => void told.push(`${name} hears of ${typeof values}`),
        end: ({ code }) => void told.push(`${name} ends ${code}`),
      };
    },
  };
}

test("several observers are all notified, in order, except one that ignores a request", () => {
  const told: unknown[] = [];
  const all = [recordTold("a", told), { begin: () => undefined }, recordTold("b", told)];
  const observation = composeObservers(all, (error) => told.push(error))?.begin(request);
  observation?.calling?.(createContextValues());
  observation?.end({ code: Code.Aborted, error: undefined, status: 409 });
  expect(told).toEqual([
    "a begins /",
    "b begins /",
    "a hears of object",
    "b hears of object",
    `a ends ${Code.Aborted}`,
    `b ends ${Code.Aborted}`,
  ]);
  expect(observation?.responseHeader).toEqual({ a: "yes", b: "yes", last: "b" });
});

test.each<[string, CallObserver]>([
  ["fails at the beginning", { begin: fail }],
  ["fails at the call", { begin: () => ({ calling: fail, end: () => {} }) }],
  ["fails at the end", { begin: () => ({ end: fail }) }],
])("one that %s does not affect the others", async (_, broken) => {
  const told: string[] = [];
  const errors: unknown[] = [];
  const observers = [recordTold("a", told), broken, recordTold("b", told)];
  using logged = vi.spyOn(console, "error").mockReturnValue();
  // Vitest fails for a rejection that nobody handles, which would end the process of a user.
  const observer = composeObservers(observers, (error) => Promise.reject(errors.push(error)));
  const observation = observer?.begin(request);
  observation?.calling?.(createContextValues());
  observation?.end({ code: undefined, error: undefined, status: 200 });
  expect(told).toHaveLength(6);
  expect(errors).toEqual([new Error("broken")]);
  await expect.poll(() => logged.mock.calls).toEqual([[1]]);
});
