/** Health: two paths that need no token. */

import { renameSync, writeFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { forge, goodClaims } from "../../../packages/proxy/test/support/auth/issuer.ts";
import { get, postPlant } from "../../support/plant-request.ts";
import { expectRestError } from "../../support/rest-error.ts";
import { knownToken, openTestServer } from "../../support/test-server.ts";

test.each(["/healthz", "/readyz", "/api/healthz", "/api/readyz"])(
  "%s answers without a token, below a base path or not",
  async (path) => {
    await using server = await openTestServer({ basePath: "/api" });
    const { origin } = new URL(server.url);
    const got = await get(origin, path);
    expect(got.status).toBe(200);
    expect(got.body.toString()).toBe('{"status":"ok"}');
  },
);

test("when the store has failed, /readyz answers 503, and creates say when to try again", async () => {
  await using server = await openTestServer();
  // What is written from now on would be lost.
  renameSync(server.database, `${server.database}.old`);
  writeFileSync(server.database, "");
  await expectRetryAfter(server.url, knownToken);
  await within("the report of the failure", server.running.failed);
  const ready = await get(server.url, "/readyz");
  expect(ready.status).toBe(503);
  const reason = "the store has failed for good, and the server ends";
  expect(JSON.parse(ready.body.toString())).toEqual({
    error: Code.Unavailable,
    message: `the server is not ready: ${reason}`,
  });
  expect((await get(server.url, "/healthz", "2")).status).toBe(200);
});

test("without the keys of JWTs, creates with one say when to try again, and others go on", async () => {
  const jwksUrl = "http://127.0.0.1:1/keys";
  const tokens = { tokenFile: undefined, tokens: [knownToken] };
  const auth = { ...tokens, jwksUrl, jwtIssuer: "issuer", jwtAudience: "plants" };
  await using server = await openTestServer({ auth });
  await expectRetryAfter(server.url, forge({ alg: "ES256" }, goodClaims(), "x".repeat(86)));
  expect(await postPlant(server.url)).toMatchObject({ status: 200 });
});

async function expectRetryAfter(origin: string, token: string): Promise<void> {
  const response = await postPlant(origin, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  expectRestError(response, { error: Code.Unavailable });
}
