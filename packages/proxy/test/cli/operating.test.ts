/** What operators set of the command: who may call, how often and how long, and what REST looks like. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, type ConnectRouter, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Health } from "connect-gateway/health";
import { expect, test } from "vitest";
import {
  CatalogService,
  file_library_v1_catalog,
  VolumeSchema,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { audience, createSigningKey, issuer, sign } from "../../../kit/test/support/auth/issuer.ts";
import { keySetOf, startKeyServer } from "../../../kit/test/support/auth/key-server.ts";
import { createServiceManager } from "../../../kit/test/support/service-manager.ts";
import { environmentFor } from "../../../kit/test/support/tracing/environment.ts";
import { openOtlpCollector } from "../../../kit/test/support/tracing/otlp-collector.ts";
import { describeServed } from "../../src/cli/reference.ts";
import { openUpstream } from "../services/open-proxy.ts";
import { post, startCommand, useFolder } from "./command.ts";

const folder = useFolder(file_library_v1_catalog);

const volume = create(VolumeSchema, { name: "shelves/a/volumes/1", id: 1n });

/** A catalog that keeps the headers of its calls, and never answers one for a name. */
function catalogOf(seen: Headers[] = []) {
  return (router: ConnectRouter) =>
    router.service(CatalogService, {
      async getVolume({ name }, { requestHeader }) {
        seen.push(requestHeader);
        if (name !== "") await new Promise(() => {});
        return volume;
      },
      async *watchVolumes() {
        await delay(200);
        yield volume;
      },
    });
}

interface Given {
  readonly upstream?: (router: ConnectRouter) => void;
  readonly args?: readonly string[];
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function open({ upstream = catalogOf(), args = [], yaml = "", env }: Given) {
  await using stack = new AsyncDisposableStack();
  const behind = stack.use(await openUpstream(upstream));
  await writeFile(join(folder.path, "gateway.yaml"), yaml);
  const given = ["--upstream", behind.url, "--descriptors", "services.binpb", ...args];
  const server = stack.use(
    await startCommand([...given, "--config", "gateway.yaml"], folder.path, env),
  );
  await server.ready();
  const parts = stack.move();
  return {
    origin: server.origin,
    get: (path = "/v1/volumes/1", headers: Record<string, string> = {}) =>
      fetch(server.origin + path, { headers }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

const tokens = "a-token-of-alice-0123,a-token-of-bob-4567890";
const alice = { authorization: "Bearer a-token-of-alice-0123" };

test("a list of tokens, those of a file and JWTs let in; others get 401, and health is open", async () => {
  const seen: Headers[] = [];
  const file = ["--token-file", "tokens"];
  const made = await folder.run("token", "create", "carol", ...file);
  expect(made.stdout).toMatch(/^cgwp_[\w-]{43}\n$/);
  const key = await createSigningKey("ES256", "k");
  const { url } = await startKeyServer(keySetOf(key.jwk));
  const yaml = `jwks-url: ${url.href}\njwt-issuer: ${issuer}\njwt-audience: ${audience}\n`;
  const env = { CONNECT_GATEWAY_TOKENS: tokens };
  await using server = await open({ upstream: catalogOf(seen), args: file, yaml, env });
  const ask = (token: string) => server.get("/v1/volumes/1", { authorization: `Bearer ${token}` });
  expect((await server.get("/v1/volumes/1", alice)).status).toBe(200);
  expect(seen[0]?.get("authorization")).toBe(alice.authorization);
  const refused = await server.get();
  expect(refused.status).toBe(401);
  expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="connect-gateway-proxy"');
  expect((await ask("no")).status).toBe(401);
  const transport = createGrpcTransport({ baseUrl: server.origin });
  const call = createClient(CatalogService, transport).getVolume({ id: 1n });
  await expect(call).rejects.toMatchObject({ code: Code.Unauthenticated });
  expect(await createClient(Health, transport).check({})).toMatchObject({ status: 1 });
  expect(seen).toHaveLength(1);
  expect((await ask(await sign(key))).status).toBe(200);
  const expired = await ask(await sign(key, { iss: issuer, aud: audience, exp: 1 }));
  expect(expired.status).toBe(401);
  expect(expired.headers.get("www-authenticate")).toContain("expired");
  expect((await ask(made.stdout.trim())).status).toBe(200);
  await folder.run(...file, "token", "revoke", "carol");
  await expect.poll(async () => (await ask(made.stdout.trim())).status).toBe(401);
});

test("requests of an address are limited", async () => {
  await using server = await open({ args: ["--rate-limit-per-address", "1"] });
  let response = await server.get();
  expect(response.status).toBe(200);
  for (let i = 0; i < 100 && response.status === 200; i++) response = await server.get();
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, "1"]);
});

test.each([
  "timeout-ms: 50\nmax-timeout-ms: 60000\nrest-etag: on",
  "method-timeouts-ms: library.v1.CatalogService=60000,library.v1.CatalogService/GetVolume=50",
])("a call whose client sets no deadline has that of %s", async (yaml) => {
  const seen: Headers[] = [];
  await using server = await open({ yaml, upstream: catalogOf(seen) });
  const answer = server.get("/v1/shelves/a/volumes/1");
  expect((await within("the answer", answer)).status).toBe(504);
  expect(seen[0]?.get("grpc-timeout")).toMatch(/^\d\dm$/);
  // A stream may take longer.
  expect((await server.get("/v1/shelves/a/volumes:watch")).status).toBe(200);
  if (!yaml.includes("max-timeout-ms")) return;
  // One that is too long is refused, and an answer that is known is not sent again.
  const get = (ms: string, headers: Record<string, string> = {}) =>
    server.get("/v1/volumes/1", { "connect-timeout-ms": ms, ...headers });
  const { status, headers } = await get("60000");
  expect(status).toBe(200);
  expect((await get("60001")).status).toBe(400);
  expect((await get("60000", { "if-none-match": headers.get("etag") ?? "" })).status).toBe(304);
});

test("where a token and a certificate are required, a call needs both", () => {
  const settings = { openapiServers: [], tls: { clientCaFile: "a" }, auth: { tokens: ["a"] } };
  const { security } = describeServed([CatalogService], {}, settings as never);
  expect(security).toEqual([{ bearer: [], certificate: [] }]);
});

const jwts = "jwks-url: http://127.0.0.1:1/k\njwt-issuer: https://i.example\njwt-audience: a";

test.each<[yaml: string, ...answers: (readonly [path: string, status: number, body: object])[]]>([
  [
    "rest-zero-values: on\nrest-problem-json: on\nrest-ignore-query-parameters: key,utm_*\n" +
      "openapi: on\nopenapi-title: Books\nopenapi-version: 2.0.0\nopenapi-servers: https://a.example",
    ["/v1/volumes/1?key=a&utm_x=b", 200, { id: "1", title: "" }],
    ["/v1/volumes/x", 400, { status: 400, title: expect.any(String) }],
    ["/openapi.json", 200, { info: { title: "Books", version: "2.0.0" }, security: [] }],
    ["/openapi.json", 200, { servers: [{ url: "https://a.example" }] }],
  ],
  [
    "path-prefix: /api\nrest-int64-numbers: on\nopenapi: on\nmcp: on\nmcp-schemas: plain\nmcp-instructions: Be brief.",
    ["/api/v1/volumes/1", 200, { id: 1 }],
    ["/v1/volumes/1", 404, { code: Code.NotFound }],
    ["/api/readyz", 200, { status: "ok" }],
    ["/readyz", 200, { status: "ok" }],
    ["/api/openapi.json", 200, { servers: [{ url: "/api" }] }],
  ],
  [
    `openapi: on\nmcp: on\nmcp-resource: https://a.example/mcp\n${jwts}`,
    ["/openapi.json", 200, { security: [{ bearer: [] }] }],
    [
      "/.well-known/oauth-protected-resource",
      200,
      { resource: "https://a.example/mcp", authorization_servers: ["https://i.example"] },
    ],
  ],
])("what is at which path, and how it looks: %s", async (yaml, ...answers) => {
  await using server = await open({ yaml });
  for (const [path, status, body] of answers) {
    const response = await server.get(path);
    expect(await response.json(), path).toMatchObject(body);
    expect(response.status, path).toBe(status);
  }
  if (!yaml.includes("mcp-instructions")) return;
  // Models get instructions and plain schemas.
  const ask = async (method: string, params: object) => {
    const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const accept = "application/json, text/event-stream";
    const response = await post(`${server.origin}/api/mcp`, request, { accept });
    return ((await response.json()) as { result: Record<string, unknown> }).result;
  };
  const clientInfo = { name: "a", version: "1" };
  const begin = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  expect((await ask("initialize", begin))["instructions"]).toBe("Be brief.");
  const tools = JSON.stringify((await ask("tools/list", {}))["tools"]);
  expect(tools).toContain("inputSchema");
  expect(tools).not.toContain("$ref");
});

test("systemd is told of the start; spans go to a collector, and the upstream's belong to them", async () => {
  await using collector = await openOtlpCollector();
  const seen: Headers[] = [];
  const manager = await createServiceManager(folder.path);
  const env = { ...environmentFor(collector.url), ...manager.env };
  await using server = await open({ upstream: catalogOf(seen), env });
  expect(await within("its word", manager.told())).toBe("/run/systemd/notify --ready\n");
  await server.get("/v1/volumes/1", { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` });
  const [span] = await collector.until(1);
  expect(span).toMatchObject({ traceId: "a".repeat(32), parentSpanId: "b".repeat(16) });
  expect(collector.exports[0]?.path).toBe("/v1/traces");
  expect(seen[0]?.get("traceparent")).toBe(`00-${"a".repeat(32)}-${span?.spanId}-01`);
  await server.get("/v1/volumes/1", { traceparent: "00-no", tracestate: "a=1" });
  expect(seen[1]?.get("tracestate"), "the state of no trace").toBeNull();
});
