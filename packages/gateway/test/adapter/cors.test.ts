/** What pages from other origins may do: https://fetch.spec.whatwg.org/#http-cors-protocol. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { CorsOptions } from "../../src/adapter/cors.ts";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import {
  isByFetch,
  openGateway,
  type SentRequest,
  type TestGatewayOptions,
} from "../support/gateway.ts";

const origin = "https://reader.example";
const rpc = "/library.v1.CatalogService/CreateVolume";
const rpcOfGet = "/library.v1.CatalogService/ListVolumes";

function openCatalog(cors?: CorsOptions, options: Partial<TestGatewayOptions> = {}) {
  return openGateway({
    ...options,
    ...(cors && { cors }),
    routes: (router) => router.service(CatalogService, createCatalog()),
  });
}

function corsOf(headers: Headers): string[] {
  return [...headers.keys()].filter((name) => name.startsWith("access-control-"));
}

function listIn(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? "").toLowerCase().split(", ");
}

const list = { method: "GET", path: "/v1/shelves/a/volumes" };

const preflight = (path: string, method: string, from = origin): SentRequest => ({
  method: "OPTIONS",
  path,
  headers: { origin: from, "access-control-request-method": method },
});

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  test.each<[what: string, path: string, method: string, allow: string[]]>([
    ["a volume", "/v1/shelves/a/volumes/1", "PATCH", ["GET", "HEAD", "PATCH", "DELETE"]],
    ["a shelf", "/v1/shelves/a/volumes", "POST", ["GET", "HEAD", "POST"]],
    ["a verb", "/v1/shelves/a/volumes:import", "POST", ["POST"]],
    ["a method that is not there", "/v1/shelves/a/volumes", "PUT", ["GET", "HEAD", "POST"]],
    ["a path with nothing, of which pages may read why,", "/v1/none", "PUT", ["PUT"]],
    ["an RPC", rpc, "POST", ["POST"]],
    ["an RPC without side effects", rpcOfGet, "GET", ["GET", "POST"]],
  ])("a preflight of %s returns what is allowed", async (_what, path, method, allow) => {
    await using gateway = await openCatalog({ origins: [origin] });
    const { status, headers, body } = await gateway.send({ version, ...preflight(path, method) });
    expect(status).toBe(204);
    expect(body).toHaveLength(0);
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    const allowed = listIn(headers, "access-control-allow-methods");
    expect(allowed.sort()).toEqual(allow.map((one) => one.toLowerCase()).sort());
    expect(headers.get("access-control-max-age")).toBe("7200");
    expect(headers.get("access-control-expose-headers")).toBeNull();
    expect(headers.get("vary")).toBe("origin");
  });

  test("a preflight allows the headers of all protocols", async () => {
    await using gateway = await openCatalog({ origins: [origin] });
    const { headers } = await gateway.send({ version, ...preflight(rpc, "POST") });
    expect(listIn(headers, "access-control-allow-headers")).toEqual(
      expect.arrayContaining([
        ...["content-type", "authorization", "connect-protocol-version", "connect-timeout-ms"],
        ...["x-grpc-web", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding"],
        ...["grpc-previous-rpc-attempts", "if-none-match"],
      ]),
    );
  });

  test.each<[what: string, request: SentRequest, status: number]>([
    ["REST", list, 200],
    ["REST that fails", { method: "GET", path: "/v1/shelves/a/volumes/1" }, 404],
    ["a stream", { method: "GET", path: "/v1/shelves/a/volumes:watch" }, 200],
    ["a path that is not there", { method: "GET", path: "/v1/nothing" }, 404],
    ["an RPC", { path: rpc, headers: { "content-type": "application/json" }, body: "{}" }, 200],
    ["an RPC that is refused", { path: rpc, body: "{}" }, 415],
  ])("the answer of %s can be read", async (_what, request, status) => {
    await using gateway = await openCatalog({ origins: ["https://a.example", origin] });
    const given = { version, ...request, headers: { ...request.headers, origin } };
    const response = await gateway.send(given);
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("vary")).toBe("origin");
    expect(listIn(response.headers, "access-control-expose-headers")).toEqual(
      expect.arrayContaining([
        ...["grpc-status", "grpc-message", "www-authenticate", "retry-after"],
        ...["grpc-encoding", "etag", "allow"],
      ]),
    );
    expect(response.headers.get("access-control-allow-methods")).toBeNull();
  });

  test.each<[what: string, from: string]>([
    ["the same by another scheme", "http://reader.example"],
    ["one that begins alike", "https://reader.example.evil.example"],
    ["none", "null"],
  ])("an origin that is %s cannot", async (_what, from) => {
    await using gateway = await openCatalog({ origins: [origin] });
    const actual = await gateway.send({ version, ...list, headers: { origin: from } });
    expect(actual.status).toBe(200);
    expect(corsOf(actual.headers)).toEqual([]);
    expect(actual.headers.get("vary")).toBe("origin");
    const before = await gateway.send({ version, ...preflight("/v1/volumes/1", "GET", from) });
    expect(corsOf(before.headers)).toEqual([]);
  });

  test.each([origin, "http://localhost:5173", "null"])("* allows %s", async (from) => {
    await using gateway = await openCatalog({ origins: ["*"] });
    for (const given of [
      { ...list, headers: { origin: from } },
      preflight("/v1/volumes/1", "GET", from),
    ]) {
      const { headers } = await gateway.send({ version, ...given });
      expect(headers.get("access-control-allow-origin")).toBe("*");
      // Pages never send credentials that they do not hold.
      expect(headers.get("access-control-allow-credentials")).toBeNull();
    }
  });

  test("the application's headers are allowed and exposed beside the others, as long as it says", async () => {
    const own = { allowedHeaders: ["Traceparent"], exposedHeaders: ["RateLimit"] };
    const others = { credentials: true, maxAgeSeconds: 5 };
    await using gateway = await openCatalog({ origins: [origin], ...own, ...others });
    const before = await gateway.send({ version, ...preflight(rpc, "POST") });
    const actual = await gateway.send({ version, ...list, headers: { origin } });
    for (const { headers } of [before, actual]) {
      expect(headers.get("access-control-allow-credentials")).toBe("true");
    }
    expect(listIn(before.headers, "access-control-allow-headers")).toEqual(
      expect.arrayContaining(["content-type", "authorization", "traceparent"]),
    );
    expect(listIn(actual.headers, "access-control-expose-headers")).toEqual(
      expect.arrayContaining(["grpc-status", "retry-after", "ratelimit"]),
    );
    expect(before.headers.get("access-control-max-age")).toBe("5");
  });

  test("OPTIONS without a preflight is an ordinary method", async () => {
    await using gateway = await openCatalog({ origins: [origin] });
    const request = { method: "OPTIONS", path: "/v1/volumes/1", headers: { origin } };
    const { status, headers } = await gateway.send({ version, ...request });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("GET, HEAD");
  });

  test("a request without an origin gets no CORS header", async () => {
    await using gateway = await openCatalog({ origins: ["*"] });
    const { headers } = await gateway.send({ version, ...list });
    expect([...corsOf(headers), headers.get("vary")]).toEqual(["origin"]); // caches give it to no page
  });

  test.each<[what: string, request: SentRequest, status: number]>([
    ["a call", { ...list, headers: { origin } }, 200],
    ["a preflight", preflight("/v1/shelves/a/volumes", "POST"), 405],
    ["a preflight of an RPC", preflight(rpc, "POST"), 405],
  ])("without the option %s gets no CORS header", async (_what, request, status) => {
    await using gateway = await openCatalog();
    const response = await gateway.send({ version, ...request });
    expect(response.status).toBe(status);
    expect(corsOf(response.headers)).toEqual([]);
    expect(response.headers.get("vary")).toBeNull();
  });

  test("a preflight of the fallback's paths is the fallback's", async () => {
    const fallback = isByFetch
      ? () => new Response(null, { status: 418 })
      : (_request: unknown, response: ServerResponse) => void response.writeHead(418).end();
    const options = { fallback } as Partial<TestGatewayOptions>;
    await using gateway = await openCatalog({ origins: [origin] }, options);
    const beside = await gateway.send({ version, ...preflight("/beside", "PUT") });
    expect(beside.status).toBe(418);
    expect(corsOf(beside.headers)).toEqual([]);
    expect((await gateway.send({ version, ...preflight(rpc, "POST") })).status).toBe(204);
  });
});

test("a preflight calls neither gate nor implementation", async () => {
  let asked = 0;
  const requestGate = () => {
    asked++;
  };
  await using gateway = await openCatalog({ origins: ["*"] }, { requestGate });
  await gateway.send(preflight(rpc, "POST"));
  await gateway.send(preflight("/v1/shelves/a/volumes", "POST"));
  expect(asked).toBe(0);
});
