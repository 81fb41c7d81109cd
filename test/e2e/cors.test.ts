/** What pages of other origins get from the one port: whatever the answer is, they may read it. */
import { renameSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { exchange, type HttpResponse } from "../../packages/gateway/test/support/http-exchange.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { knownToken, openTestServer, type TestServer } from "../support/test-server.ts";

const page = "https://app.example";
const stranger = "https://app.example.evil.example";
const bodyBytesMax = 1000;

const authorization = `Bearer ${knownToken}`;

function corsOf({ headers }: HttpResponse): string[] {
  return [...headers.keys()].filter((name) => name.startsWith("access-control-"));
}

function expectReadable(response: HttpResponse, origin = page): void {
  expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  expect(response.headers.get("vary")?.split(", ")).toContain("origin");
}

function listIn({ headers }: HttpResponse, name: string): string[] {
  return (headers.get(name) ?? "").toLowerCase().split(", ");
}

// Browsers do not speak gRPC itself.
const browserProtocols = rawProtocols.filter(({ name }) => !name.startsWith("gRPC over"));

describe.each(browserProtocols)("$name", (protocol) => {
  const { version, path, contentType } = protocol;
  let server: TestServer;
  let broken: TestServer;

  beforeAll(async () => {
    const options = { corsOrigins: ["http://localhost:5173", page], limits: { bodyBytesMax } };
    server = await openTestServer(options);
    broken = await openTestServer(options);
    renameSync(broken.database, `${broken.database}.old`);
    writeFileSync(broken.database, "");
    return async () => {
      await server.close();
      await broken.close();
    };
  });

  interface Call {
    readonly to?: "broken";
    readonly path?: string;
    readonly headers?: Record<string, string>;
    readonly name?: string;
  }

  function call({ to, name = "Basil", ...given }: Call): Promise<HttpResponse> {
    return exchange({
      origin: (to === undefined ? server : broken).url,
      version,
      path,
      body: protocol.frame(protocol.encode({ id: 1n, name })),
      ...given,
      headers: { origin: page, "content-type": contentType, ...given.headers },
    });
  }

  test.each<[what: string, rest: number, given: Call]>([
    ["a success", 200, { headers: { authorization } }],
    ["no token", 401, {}],
    ["a token that is unknown", 401, { headers: { authorization: "Bearer unknown-token-xyz" } }],
    ["a path that is not there", 404, { path: "/nothing", headers: { authorization } }],
    ["a body too large", 413, { name: "x".repeat(2000), headers: { authorization } }],
    ["another media type", 415, { headers: { authorization, "content-type": "text/plain" } }],
    ["a store that has failed", 503, { to: "broken", headers: { authorization } }],
  ])("the answer to %s may be read", async (_what, rest, given) => {
    const response = await call(given);
    if (path === "/plants") expect(response.status).toBe(rest);
    expectReadable(response);
    expect(listIn(response, "access-control-expose-headers")).toEqual(
      expect.arrayContaining([
        "grpc-status",
        "www-authenticate",
        "retry-after",
        "ratelimit",
        "x-request-id",
      ]),
    );
    const other = await call({ ...given, headers: { ...given.headers, origin: stranger } });
    expect(other.status).toBe(response.status);
    expect(corsOf(other)).toEqual([]);
  });

  test("a preflight needs no token, and says what may be sent", async () => {
    const ask = (origin: string) =>
      exchange({
        origin: server.url,
        version,
        method: "OPTIONS",
        path,
        headers: { origin, "access-control-request-method": "POST" },
      });
    const response = await ask(page);
    expect(response.status).toBe(204);
    expectReadable(response);
    expect(listIn(response, "access-control-allow-methods")).toContain("post");
    expect(listIn(response, "access-control-allow-headers")).toEqual(
      expect.arrayContaining([
        "authorization",
        "content-type",
        "x-grpc-web",
        "traceparent",
        "x-request-id",
      ]),
    );
    expect(corsOf(await ask(stranger))).toEqual([]);
  });
});

test.each(rawProtocols)("$name without an origin is served as ever", async (protocol) => {
  await using server = await openTestServer({ corsOrigins: ["*"] });
  const outcome = await protocol.send(server.url, protocol.encode({ id: 1n, name: "Basil" }));
  expect(outcome).toEqual({ ok: { name: "Basil" } });
});

const healthCheck = {
  version: "1.1",
  path: "/grpc.health.v1.Health/Check",
  headers: { origin: page, "content-type": "application/json" },
  body: "{}",
} as const;

test.each([
  [[page], page],
  [["*"], "*"],
  [[], null],
])("with --cors-origin %j a page may ask for the health: %j", async (corsOrigins, allowed) => {
  await using server = await openTestServer({ corsOrigins });
  const response = await exchange({ origin: server.url, ...healthCheck });
  expect(response.status).toBe(200);
  if (allowed !== null) expectReadable(response, allowed);
  else expect([...corsOf(response), response.headers.get("vary")]).toEqual([null]);
});
