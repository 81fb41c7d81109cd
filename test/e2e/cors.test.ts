/** What pages of other origins get from the one port: whatever the answer is, they may read it. */
import { renameSync, writeFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { exchange, type HttpResponse } from "../../packages/gateway/test/support/http-exchange.ts";
import { postPlant } from "../support/plant-request.ts";
import { createPlantPath } from "../support/protocol/message.ts";
import { openTestServer, type TestServer } from "../support/test-server.ts";

const page = "https://app.example";
const stranger = "https://app.example.evil.example";
const bodyBytesMax = 1000;
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

const exposed = ["grpc-status", "www-authenticate", "retry-after", "ratelimit", "x-request-id"];

test.each<[what: string, status: number, given: Parameters<typeof postPlant>[1]]>([
  ["a success", 200, {}],
  ["an RPC", 200, { path: createPlantPath, body: '{"plant":{"id":1,"name":"Basil"}}' }],
  ["a token that is unknown", 401, { headers: { authorization: "Bearer unknown-token-xyz" } }],
  ["a path that is not there", 404, { path: "/nothing" }],
  ["a body too large", 413, { body: "x".repeat(2000) }],
  ["another media type", 415, { headers: { "content-type": "text/plain" } }],
  ["a store that has failed", 503, {}],
])("the answer to %s may be read", async (_what, status, given) => {
  const origin = status === 503 ? broken.url : server.url;
  const ask = (from: string) =>
    postPlant(origin, { ...given, headers: { ...given?.headers, origin: from } });
  const response = await ask(page);
  expect(response.status).toBe(status);
  expectReadable(response);
  const listed = listIn(response, "access-control-expose-headers");
  expect(listed).toEqual(expect.arrayContaining(exposed));
  const other = await ask(stranger);
  expect(other.status).toBe(status);
  expect(corsOf(other)).toEqual([]);
});

test.each(["/plants", createPlantPath])(
  "a preflight of %s needs no token, and says what may be sent",
  async (path) => {
    const ask = (origin: string) =>
      exchange({
        ...{ origin: server.url, version: "1.1", method: "OPTIONS", path },
        headers: { origin, "access-control-request-method": "POST" },
      });
    const response = await ask(page);
    expect(response.status).toBe(204);
    expectReadable(response);
    expect(listIn(response, "access-control-allow-methods")).toContain("post");
    const names = ["authorization", "content-type", "x-grpc-web", "traceparent", "x-request-id"];
    const listed = listIn(response, "access-control-allow-headers");
    expect(listed).toEqual(expect.arrayContaining(names));
    expect(corsOf(await ask(stranger))).toEqual([]);
  },
);

test.each([
  [[page], page],
  [["*"], "*"],
  [[], null],
])("with --cors-origin %j a page may ask for the health: %j", async (corsOrigins, allowed) => {
  await using own = await openTestServer({ corsOrigins });
  const response = await exchange({
    ...{ origin: own.url, version: "1.1", path: "/grpc.health.v1.Health/Check", body: "{}" },
    headers: { origin: page, "content-type": "application/json" },
  });
  expect(response.status).toBe(200);
  if (allowed !== null) expectReadable(response, allowed);
  else expect([...corsOf(response), response.headers.get("vary")]).toEqual([null]);
  expect(await postPlant(own.url)).toMatchObject({ status: 200 });
});
