/** The fetch handler with plain requests. Its rows of all protocols are those of Node's adapter. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { expect, test, vi } from "vitest";
import { type FetchGatewayOptions, gatewayFetchHandler } from "../../src/fetch.ts";
import { BodyBudget } from "../../src/index.ts";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { createPath, volume } from "../support/volumes.ts";
import { within } from "../support/within.ts";

const cutHeaders = { "content-type": "application/json", "content-length": `${volume.length + 1}` };
const postJson = { method: "POST", headers: { "content-type": "application/json" } };

type Catalog = Partial<ServiceImpl<typeof CatalogService>>;

function handlerOf(catalog: Catalog = createCatalog(), options: Partial<FetchGatewayOptions> = {}) {
  const errors: unknown[] = [];
  const handler = gatewayFetchHandler({
    routes: (router) => void router.service(CatalogService, catalog),
    onError: (error) => errors.push(error),
    ...options,
  });
  const send = (path: string, init: RequestInit = {}) =>
    within(`the answer of ${path}`, handler(new Request(`http://a${path}`, init)));
  return { handler, send, errors };
}

test.each(["fetch.ts", "rest/client/index.ts"])("%s imports nothing of Node, no types", (entry) => {
  const own: string[] = [join(import.meta.dirname, "../../src", entry)];
  const packages = new Set<string>();
  for (const file of own) {
    const imports = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?"([^"]+)"/g);
    for (const [, specifier = ""] of imports) {
      const path = join(dirname(file), specifier);
      if (!specifier.startsWith(".")) packages.add(specifier);
      else if (!own.includes(path)) own.push(path);
    }
  }
  expect(own.length).toBeGreaterThan(25);
  expect([...packages].filter((one) => /^node:|connect-node/.test(one))).toEqual([]);
});

test("what a body held is given back, although no runtime says when an answer was taken", async () => {
  // Bun and Deno join two lengths.
  for (const length of [{}, { "content-length": `${volume.length}, ${volume.length}` }]) {
    const bodyBudget = new BodyBudget();
    const init = { ...postJson, headers: { ...postJson.headers, ...length }, body: volume };
    const response = await handlerOf(createCatalog(), { bodyBudget }).send(createPath, init);
    expect(response.status).toBe(200);
    await response.text();
    await expect.poll(() => bodyBudget.heldBytes).toBe(0);
  }
});

test("gRPC is told what to use instead, after the gate and without a trailer", async () => {
  const init = { method: "POST", headers: { "content-type": "application/grpc" } };
  const { headers } = await handlerOf().send("/library.v1.CatalogService/GetVolume", init);
  const advice = "gRPC needs HTTP trailers: use gRPC-Web or Connect on this server";
  expect([headers.get("grpc-status"), headers.get("grpc-message")]).toEqual(["12", advice]);
});

test("a call that waits for its body ends with the shutdown", async () => {
  const shutdown = new AbortController();
  const { send } = handlerOf(createCatalog(), { shutdownSignal: shutdown.signal });
  const init = { ...postJson, body: new ReadableStream(), duplex: "half" } as RequestInit;
  const answer = send(createPath, init);
  shutdown.abort(new ConnectError("over", Code.Unavailable));
  expect((await answer).status).toBe(503);
});

test("a slow reader holds up the implementation, and ends it as it leaves", async () => {
  using ready = vi.spyOn(WritableStreamDefaultWriter.prototype, "ready", "get");
  ready.mockResolvedValue(undefined); // as on Workers
  let pieces = 0;
  const over = Promise.withResolvers<void>();
  async function* streamVolume() {
    try {
      for (; pieces < 1000; pieces++) yield { data: new Uint8Array(16 * 1024) };
    } finally {
      over.resolve();
    }
  }
  const { body } = await handlerOf({ streamVolume }).send("/v1/shelves/a/volumes/1:stream");
  const reader = body?.getReader();
  for (let i = 0; i < 3; i++) await reader?.read();
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
  await reader?.cancel();
  await within("the end of the implementation", over.promise);
  expect(pieces).toBeLessThan(12); // 64 KiB ahead of the reader
});

test.each([undefined, "no-cache"])("compress of Hono keeps no message: %s", async (own) => {
  const { handler } = handlerOf({
    async *watchVolumes(_request, { signal, responseHeader }) {
      if (own !== undefined) responseHeader.set("cache-control", own);
      yield { title: "Emma" };
      await once(signal, "abort");
    },
  });
  const app = new Hono().use(compress()).all("*", ({ req }) => handler(req.raw));
  const headers = { accept: "application/json", "accept-encoding": "gzip" };
  const { body } = await app.request("/v1/shelves/a/volumes:watch", { headers });
  const reader = body?.getReader();
  const message = await within("a message", Promise.resolve(reader?.read()));
  expect(Buffer.from(message?.value ?? []).toString()).toBe('[{"title":"Emma"}');
  await reader?.cancel();
});

test("the runtime's own arguments reach context values, peer address and fallback", async () => {
  const seen: unknown[] = [];
  const handler = gatewayFetchHandler<[env: string]>({
    routes: (router) => void router.service(CatalogService, createCatalog()),
    peerAddress: (_request, env) => void seen.push(env) as undefined,
    fallback: (_request, env) => new Response(env),
  });
  const response = await handler(new Request("http://a/elsewhere"), "own");
  expect([await response.text(), ...seen]).toEqual(["own", "own"]);
});

// As Bun and Deno make requests from what was sent.
test.each<[url: string, host: string | undefined, status: number]>([
  ["/elsewhere", undefined, 200],
  ["/v1/shelves/a/volumes?pageSize=1#e", undefined, 200],
  ["/elsewhere", "a b", 400],
  ["http://a/elsewhere?/v1/volumes/1", "a/elsewhere?", 400],
  ["http://a b/elsewhere", "a%", 400],
])("%s is asked of the host %s: %i", async (url, host, status) => {
  const requestGate = ({ url }: { url: string }) => expect(url).toMatch(/\?pageSize=1$/);
  const { handler } = handlerOf(createCatalog(), { requestGate, fallback: () => new Response() });
  const request = new Request("http://a/", { headers: host === undefined ? {} : { host } });
  Object.defineProperty(request, "url", { value: url });
  expect((await handler(request)).status).toBe(status);
});

test("a fallback that throws is reported, and answered by 500", async () => {
  const failure = new Error("broken");
  const { send, errors } = handlerOf(createCatalog(), { fallback: () => Promise.reject(failure) });
  expect((await send("/elsewhere")).status).toBe(500);
  expect(errors).toEqual([failure]);
});

test.each<[what: string, use: (request: Request) => unknown]>([
  ["read", (request) => request.text()],
  ["locked", (request) => request.body?.getReader()],
])("a body that somebody has %s before is reported by its cause", async (_what, use) => {
  const { handler, errors } = handlerOf();
  const request = new Request(`http://a${createPath}`, { ...postJson, body: "{}" });
  await use(request);
  expect((await handler(request)).status).toBe(500);
  expect(errors).toMatchObject([{ name: "BodyAlreadyReadError" }]);
});

const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });

test.each<[when: string, init: object]>([
  ["before its request", { signal: AbortSignal.abort() }],
  ["amid its body", { body: broken, duplex: "half" }],
  ["amid its body, as its length shows", { headers: cutHeaders, body: volume }],
])("a client that has left %s is no failure", async (_when, init) => {
  const { send, errors } = handlerOf();
  const { status } = await send(createPath, { ...postJson, ...init });
  expect([status, errors]).toEqual([499, []]);
});

test.each<[which: string, status: number, readMaxBytes: number]>([
  ["whose client leaves", 499, 1000],
  ["that is refused has its rest discarded for a time, and", 413, 9],
])("a body %s is cancelled", async (_which, status, readMaxBytes) => {
  const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>();
  const late = new AbortController();
  using timeout = vi.spyOn(AbortSignal, "timeout");
  timeout.mockReturnValue(late.signal);
  let left = 9;
  const pull = async (to: ReadableStreamDefaultController) => {
    await new Promise(setImmediate);
    to.enqueue(new Uint8Array(9));
    if (--left === 0) late.abort();
  };
  const body = new ReadableStream({ pull, cancel });
  const init = { ...postJson, body, duplex: "half", signal: status === 499 ? late.signal : null };
  expect((await handlerOf({}, { readMaxBytes }).send(createPath, init)).status).toBe(status);
  await within("the end of the body", cancelled);
});

test("of a message that unpacks to too much, the rest is not unpacked, a small one at once", async () => {
  const written: number[] = [];
  // Deno unpacks at once what is written at once, and in workerd writers do not wait for readers.
  const transform: Transformer["transform"] = ({ length }, to) => {
    written.push(length);
    to.enqueue(new Uint8Array(1000 * length));
  };
  const unpacking = TransformStream.bind(null, { transform }, undefined, { highWaterMark: 1000 });
  vi.stubGlobal("DecompressionStream", unpacking);
  const headers = { ...postJson.headers, "content-encoding": "gzip" };
  const nextTurn = setImmediate(() => written.push(0));
  for (const length of [9, 2 ** 19]) {
    const init = { ...postJson, headers, body: new Uint8Array(length).fill(1) };
    const { status } = await handlerOf({}, { readMaxBytes: 2 ** 20 }).send(createPath, init);
    written.push(status);
    clearImmediate(nextTurn); // the large one may take several
  }
  vi.unstubAllGlobals();
  expect(written).toEqual([9, 400, 2 ** 14, 413]);
});

const fail = () => {
  throw new ConnectError("full", Code.Unavailable);
};

// Vitest fails for a rejection that nobody handles, which would end the process of a user.
test.each([fail, async () => fail()])("a failing listener changes nothing: %o", async (broken) => {
  using reported = vi.spyOn(console, "error").mockReturnValue();
  const getVolume = () => Promise.reject(new Error("of the method"));
  const observer = { begin: () => ({ end: broken, calling: broken }) };
  const options = { onError: broken, observer, peerAddress: broken as () => never };
  expect((await handlerOf({ getVolume }, options).send("/v1/volumes/1")).status).toBe(500);
  await expect.poll(() => reported.mock.calls.length).toBe(4);
  expect((await handlerOf({}, { admit: broken }).send("/v1/volumes/1")).status).toBe(503);
});

test("an answer that no Response can hold becomes an error", async () => {
  const getVolume: Catalog["getVolume"] = (_request, { responseHeader }) => {
    responseHeader.set("vary", "x-shelf");
    return {};
  };
  const rest = { renderError: () => ({ status: 1000, body: {} }) };
  const { send, errors } = handlerOf({ getVolume }, { rest, cors: { origins: ["*"] } });
  expect([(await send("/elsewhere")).status, errors.length]).toEqual([500, 1]);
  expect((await send("/v1/volumes/1")).headers.get("vary")).toBe("x-shelf, origin");
  const fallback = () => Promise.reject(new Error("gone"));
  const beside = handlerOf({ getVolume }, { rest, fallback });
  expect((await beside.send("/elsewhere")).status).toBe(500);
});
