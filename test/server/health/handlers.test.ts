/** Health: two paths that need no token. */
import { renameSync, writeFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { exchange } from "../../../packages/gateway/test/support/http-exchange.ts";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import { rawProtocols } from "../../support/protocol/raw.ts";
import { expectRestError } from "../../support/rest-error.ts";
import { knownToken, openTestServer } from "../../support/test-server.ts";

test.each(["/healthz", "/readyz", "/api/healthz", "/api/readyz"])(
  "%s answers without a token, below a base path or not",
  async (path) => {
    await using server = await openTestServer({ basePath: "/api" });
    const { origin } = new URL(server.url);
    const got = await exchange({ origin, version: "1.1", method: "GET", path });
    expect(got.status).toBe(200);
    expect(got.body.toString()).toBe('{"status":"ok"}');
  },
);

test("/readyz answers 503 while the server drains, on a connection that is still there", async () => {
  await using server = await openTestServer();
  using lock = lockStore(server.database);
  using connection = await openRawConnection(server.port);
  const plant = '{"id":1,"name":"Basil"}';
  connection.write(
    `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${knownToken}\r\n` +
      "Content-Type: application/json\r\nExpect: 100-continue\r\n" +
      `Content-Length: ${plant.length}\r\n\r\n${plant}`,
  );
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
    const ready = await exchange({
      origin: server.url,
      version: "1.1",
      method: "GET",
      path: "/readyz",
    });
    expect(ready.status).toBe(503);
    const reason = "the store has failed for good, and the server ends";
    expect(JSON.parse(ready.body.toString())).toEqual({
      error: Code.Unavailable,
      message: `the server is not ready: ${reason}`,
    });
    const alive = await exchange({
      origin: server.url,
      version: "2",
      method: "GET",
      path: "/healthz",
    });
    expect(alive.status).toBe(200);
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
  const response = await exchange({
    origin,
    version: "1.1",
    path: "/plants",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: '{"id":1,"name":"Basil"}',
  });
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
  expectRestError(response, { error: Code.Unavailable });
}
