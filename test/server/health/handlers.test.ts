/** Health: two paths that need no token. */

import { renameSync, writeFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import { basil, get, plantOverHttp1, postPlant } from "../../support/plant-request.ts";
import { rawProtocols } from "../../support/protocol/raw.ts";
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

test("/readyz answers 503 while the server drains, on a connection that is still there", async () => {
  await using server = await openTestServer();
  using lock = lockStore(server.database);
  using connection = await openRawConnection(server.port);
  connection.write(plantOverHttp1(basil, "Expect: 100-continue"));
  await connection.until("100 Continue", (bytes) => bytes.includes("100 Continue"));
  const closed = server.close();
  connection.write("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
  // The loop that we share with the server turns, and it has read the line.
  for (let i = 0; i < 3; i++) await nextTurn();
  lock.release();
  const answers = parseHttp1Responses(await connection.untilClosed());
  const body = '{"error":14,"message":"the server is not ready"}';
  expect(answers).toMatchObject([{ status: 100 }, { status: 200 }, { status: 503, body }]);
  await closed;
});

/** Puts another file in the place of the database: what is written from now on would be lost. */
function breakStore(database: string): void {
  renameSync(database, `${database}.old`);
  writeFileSync(database, "");
}

describe("when the store has failed", () => {
  test("/readyz answers 503, creates are unavailable, and the server says so", async () => {
    await using server = await openTestServer();
    breakStore(server.database);
    const [rest] = rawProtocols;
    const outcome = await rest?.send(server.url, rest.encode({ id: 1n, name: "Basil" }));
    expect(outcome).toMatchObject({ code: Code.Unavailable, status: 503 });
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

  test("creates say when to try again", async () => {
    await using server = await openTestServer();
    breakStore(server.database);
    await expectRetryAfter(server.url, knownToken);
  });
});

describe("when the keys of JWTs cannot be had", () => {
  test("creates with a JWT say when to try again, and others go on", async () => {
    const jwksUrl = "http://127.0.0.1:1/keys";
    const tokens = { tokenFile: undefined, tokens: [knownToken] };
    const auth = { ...tokens, jwksUrl, jwtIssuer: "issuer", jwtAudience: "plants" };
    await using server = await openTestServer({ auth });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { iss: "issuer", aud: "plants", exp: 4e9 };
    const signature = Buffer.alloc(64).toString("base64url");
    const jwt = `${part({ alg: "ES256", typ: "JWT" })}.${part(claims)}.${signature}`;
    await expectRetryAfter(server.url, jwt);
    const [rest] = rawProtocols;
    expect(await rest?.send(server.url, rest.encode({ id: 1n, name: "Basil" }))).toEqual({
      ok: { name: "Basil" },
    });
  });
});

async function expectRetryAfter(origin: string, token: string): Promise<void> {
  const response = await postPlant(origin, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  expectRestError(response, { error: Code.Unavailable });
}
