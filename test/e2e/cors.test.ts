/** What pages of other origins get from the one port. The gateway's tests have every answer and preflight. */
import { expect, test } from "vitest";
import type { HttpResponse } from "../../packages/gateway/test/support/exchange.ts";
import { postPlant } from "../support/plant-request.ts";
import { openTestServer } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

const page = "https://app.example";
const server = useTestServer({ corsOrigins: ["http://localhost:5173", page] });

function expectReadable({ headers }: HttpResponse, origin = page): void {
  expect(headers.get("access-control-allow-origin")).toBe(origin);
  expect(headers.get("vary")?.split(", ")).toContain("origin");
}

test.each([
  ["a success", 200, {}],
  ["a token that is unknown", 401, { authorization: "Bearer unknown-token-xyz" }],
])("the answer to %s may be read, with what the store adds", async (_what, status, headers) => {
  const response = await postPlant(server.url, { headers: { ...headers, origin: page } });
  expect(response.status).toBe(status);
  expectReadable(response);
  const exposed = response.headers.get("access-control-expose-headers")?.toLowerCase().split(", ");
  const added = ["www-authenticate", "ratelimit", "x-request-id"];
  expect(exposed).toEqual(expect.arrayContaining(added));
});

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
  else expect([...response.headers.keys()].join()).not.toMatch(/access-control|vary/);
});
