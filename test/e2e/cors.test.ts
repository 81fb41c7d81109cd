/** What pages of other origins get from the one port: whatever the answer is, they may read it. */
import { expect, test } from "vitest";
import { exchange, type HttpResponse } from "../../packages/gateway/test/support/http-exchange.ts";
import { postPlant } from "../support/plant-request.ts";
import { createPlantPath } from "../support/protocol/message.ts";
import { openTestServer } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

const page = "https://app.example";
const stranger = "https://app.example.evil.example";
const server = useTestServer({ corsOrigins: ["http://localhost:5173", page] });

function corsOf({ headers }: HttpResponse): string[] {
  return [...headers.keys()].filter((name) => name.startsWith("access-control-"));
}

function expectReadable(response: HttpResponse, origin = page): void {
  expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  expect(response.headers.get("vary")?.split(", ")).toContain("origin");
}

function expectListed({ headers }: HttpResponse, name: string, expected: readonly string[]): void {
  const listed = (headers.get(`access-control-${name}`) ?? "").toLowerCase().split(", ");
  expect(listed).toEqual(expect.arrayContaining([...expected]));
}

const exposed = ["grpc-status", "www-authenticate", "retry-after", "ratelimit", "x-request-id"];
const allowed = ["authorization", "content-type", "x-grpc-web", "traceparent", "x-request-id"];

test.each<[what: string, status: number, given: Parameters<typeof postPlant>[1]]>([
  ["a success", 200, {}],
  ["an RPC", 200, { path: createPlantPath, body: '{"plant":{"id":1,"name":"Basil"}}' }],
  ["a token that is unknown", 401, { headers: { authorization: "Bearer unknown-token-xyz" } }],
  ["a path that is not there", 404, { path: "/nothing" }],
  ["another media type", 415, { headers: { "content-type": "text/plain" } }],
])("the answer to %s may be read", async (_what, status, given) => {
  const ask = (origin: string) =>
    postPlant(server.url, { ...given, headers: { ...given?.headers, origin } });
  const response = await ask(page);
  expect(response.status).toBe(status);
  expectReadable(response);
  expectListed(response, "expose-headers", exposed);
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
    expectListed(response, "allow-methods", ["post"]);
    expectListed(response, "allow-headers", allowed);
    expect(corsOf(await ask(stranger))).toEqual([]);
  },
);

test.each([
  [[page], page],
  [["*"], "*"],
  [[], null],
])("with --cors-origin %j a page may ask for the health: %j", async (corsOrigins, allowed) => {
  await using own = await openTestServer({ corsOrigins });
  const path = "/grpc.health.v1.Health/Check";
  const headers = { origin: page, authorization: "" };
  const response = await postPlant(own.url, { path, headers, body: "{}" });
  expect(response.status).toBe(200);
  if (allowed !== null) expectReadable(response, allowed);
  else expect([...corsOf(response), response.headers.get("vary")]).toEqual([null]);
});
