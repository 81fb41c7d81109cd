/** The fetch handler with plain requests. Its rows of all protocols are those of Node's adapter. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import {
  Code,
  ConnectError,
  createClient,
  type HandlerContext,
  type ServiceImpl,
  type Transport,
} from "@connectrpc/connect";
import { createAsyncIterable, type UniversalClientFn } from "@connectrpc/connect/protocol";
import * as connect from "@connectrpc/connect/protocol-connect";
import * as grpc from "@connectrpc/connect/protocol-grpc";
import * as grpcWeb from "@connectrpc/connect/protocol-grpc-web";
import { describe, expect, test } from "vitest";
import { type FetchGatewayOptions, gatewayFetchHandler } from "../../src/fetch.ts";
import { BodyBudget } from "../../src/index.ts";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { collect } from "../support/collect.ts";
import { createPath, volume } from "../support/create-volume.ts";
import { within } from "../support/within.ts";

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

const big = 9007199254740993n;
const name = "shelves/a/volumes/1";

test.each(["fetch.ts", "rest/client/index.ts"])(
  "nothing that %s imports, also for types, is of Node",
  (entry) => {
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
  },
);

test("what a body held is given back, although no runtime says when an answer was taken", async () => {
  const bodyBudget = new BodyBudget();
  const { send } = handlerOf(createCatalog(), { bodyBudget });
  const response = await send(createPath, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: volume },
  });
  expect(response.status).toBe(200);
  await response.text();
  await expect.poll(() => bodyBudget.heldBytes).toBe(0);
});

const protocols = [
  ["Connect", connect.createTransport],
  ["gRPC-Web", grpcWeb.createTransport],
] as const;

function transportOf(create: (typeof protocols)[number][1], handler: Handler): Transport {
  return create({
    baseUrl: "http://a",
    httpClient: clientOf(handler),
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 1024,
    readMaxBytes: 2 ** 20,
    writeMaxBytes: 2 ** 20,
    useHttpGet: true,
  } as never);
}

type Handler = (request: Request) => Promise<Response>;

/** As connect-es's `createFetchClient`, which lacks the `duplex` that Node's fetch demands. */
function clientOf(handler: Handler): UniversalClientFn {
  return async ({ url, method, header, body, signal }) => {
    const stream = method === "GET" ? null : Readable.toWeb(Readable.from(body ?? []));
    const init = { method, headers: header, body: stream, signal, duplex: "half" };
    const { status, headers, body: answer } = await handler(new Request(url, init as RequestInit));
    return { status, header: headers, body: chunksOf(answer), trailer: new Headers() };
  };
}

async function* chunksOf(body: ReadableStream<Uint8Array> | null) {
  if (body !== null) yield* body as unknown as AsyncIterable<Uint8Array>;
}

describe.each(protocols)("by %s", (_name, create) => {
  const open = (catalog?: Catalog) =>
    createClient(CatalogService, transportOf(create, handlerOf(catalog).handler));

  test("calls of all kinds are answered", async () => {
    const client = open();
    const parent = "shelves/a";
    await client.createVolume({ parent, volume: { id: big, title: "Emma" } });
    expect((await client.getVolume({ id: big })).id).toBe(big);
    expect(await collect(client.watchVolumes({ parent }))).toMatchObject([{ id: big }]);
    const two = createAsyncIterable([{ parent }, { parent }]);
    expect((await client.importVolumes(two)).count).toBe(2n);
  });

  test("an error has its code and message", async () => {
    const error = await open().getVolume({ id: 1n }).then(String, ConnectError.from);
    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "there is no volume 1" });
  });
});

test("gRPC is told what to use instead, after the gate and without a trailer", async () => {
  const { handler } = handlerOf();
  const client = createClient(CatalogService, transportOf(grpc.createTransport, handler));
  const error = await client.getVolume({ id: 1n }).then(String, ConnectError.from);
  expect(error).toMatchObject({
    code: Code.Unimplemented,
    rawMessage:
      "gRPC needs HTTP trailers, which this server does not have: use gRPC-Web or Connect",
  });
});

/** Streams pieces until its call is cancelled. */
function endless() {
  const left = Promise.withResolvers<HandlerContext>();
  const counts = { pieces: 0 };
  const catalog: Catalog = {
    async *streamVolume(_request, context) {
      context.signal.addEventListener("abort", () => left.resolve(context));
      for (;;) {
        counts.pieces++;
        yield { contentType: "text/plain", data: new Uint8Array(16 * 1024) };
      }
    },
  };
  return { catalog, counts, left: left.promise };
}

describe("a client that leaves cancels its call:", () => {
  test("it aborts its request while its stream is answered", async () => {
    const { catalog, left } = endless();
    const aborted = new AbortController();
    const { signal } = aborted;
    const response = await handlerOf(catalog).send(`/v1/${name}:stream`, { signal });
    expect(response.status).toBe(200);
    aborted.abort();
    await within("the end of the call", left);
  });

  test("it cancels the body of the answer", async () => {
    const { catalog, left } = endless();
    const response = await handlerOf(catalog).send(`/v1/${name}:stream`);
    await response.body?.cancel();
    await within("the end of the call", left);
  });

  test("it aborts a unary call", async () => {
    const begun = Promise.withResolvers<HandlerContext>();
    const catalog: Catalog = {
      getVolume: (_request, context) => {
        begun.resolve(context);
        return new Promise(() => {});
      },
    };
    const aborted = new AbortController();
    const answer = handlerOf(catalog).send("/v1/volumes/1", { signal: aborted.signal });
    const { signal } = await within("the call", begun.promise);
    aborted.abort();
    expect(signal.aborted).toBe(true);
    expect((await answer).status).toBe(499);
  });

  test("it aborts before its body is whole", async () => {
    const aborted = new AbortController();
    const reading = Promise.withResolvers<void>();
    const body = new ReadableStream({ pull: () => reading.resolve() }, { highWaterMark: 0 });
    const { send, errors } = handlerOf();
    const answer = send("/v1/shelves/a/volumes", {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body },
      ...({ duplex: "half", signal: aborted.signal } as RequestInit),
    });
    await within("a read", reading.promise);
    aborted.abort();
    expect((await answer).status).toBe(499);
    expect(errors).toEqual([]);
  });
});

test("a slow reader holds up the implementation", async () => {
  const { catalog, counts } = endless();
  const { body } = await handlerOf(catalog).send(`/v1/${name}:stream`);
  const reader = body?.getReader();
  for (let i = 0; i < 3; i++) await reader?.read();
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
  expect(counts.pieces).toBeLessThan(12); // 64 KiB ahead of the reader
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

test("a fallback that throws is reported, and answered by 500", async () => {
  const failure = new Error("broken");
  const { send, errors } = handlerOf(createCatalog(), { fallback: () => Promise.reject(failure) });
  expect((await send("/elsewhere")).status).toBe(500);
  expect(errors).toEqual([failure]);
});

test("a body that was read before is reported by its cause", async () => {
  const { handler, errors } = handlerOf();
  const headers = { "content-type": "application/json" };
  const request = new Request("http://a/v1/shelves/a/volumes", {
    ...{ method: "POST", headers, body: "{}" },
  });
  await request.text();
  expect((await handler(request)).status).toBe(500);
  expect(errors).toMatchObject([{ name: "BodyAlreadyReadError" }]);
});

test("an answer that no Response can hold becomes an error", async () => {
  const catalog: Catalog = {
    getVolume(_request, { responseHeader }) {
      responseHeader.set("vary", "x-shelf");
      return {};
    },
  };
  const rest = { renderError: () => ({ status: 1000, body: {} }) };
  const { send, errors } = handlerOf(catalog, { rest, cors: { origins: ["*"] } });
  expect((await send("/elsewhere")).status).toBe(500);
  expect(errors).toHaveLength(1);
  expect((await send("/v1/volumes/1")).headers.get("vary")).toBe("x-shelf, origin");
});
