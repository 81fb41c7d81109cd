/** The fetch handler with plain requests. Its rows of all protocols are those of Node's adapter. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import { Hono } from "hono";
import { compress } from "hono/compress";
import { expect, test } from "vitest";
import { type FetchGatewayOptions, gatewayFetchHandler } from "../../src/fetch.ts";
import { BodyBudget } from "../../src/index.ts";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
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

test("gRPC is told what to use instead, after the gate and without a trailer", async () => {
  const headers = { "content-type": "application/grpc" };
  const path = "/library.v1.CatalogService/GetVolume";
  const answer = await handlerOf().send(path, { method: "POST", headers });
  expect(answer.headers.get("grpc-status")).toBe(`${Code.Unimplemented}`);
  expect(answer.headers.get("grpc-message")).toBe(
    "gRPC needs HTTP trailers, which this server does not have: use gRPC-Web or Connect",
  );
});

test("a slow reader holds up the implementation", async () => {
  let pieces = 0;
  const catalog: Catalog = {
    async *streamVolume() {
      for (; ; pieces++) yield { contentType: "text/plain", data: new Uint8Array(16 * 1024) };
    },
  };
  const { body } = await handlerOf(catalog).send("/v1/shelves/a/volumes/1:stream");
  const reader = body?.getReader();
  for (let i = 0; i < 3; i++) await reader?.read();
  for (let i = 0; i < 50; i++) await new Promise(setImmediate);
  expect(pieces).toBeLessThan(12); // 64 KiB ahead of the reader
  await reader?.cancel();
});

test("each message of a stream passes a middleware that compresses, as Hono's", async () => {
  const { handler } = handlerOf({
    async *watchVolumes(_request, { signal }) {
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
