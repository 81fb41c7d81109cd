/** Health: two paths that need no token. */
import { renameSync, writeFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  exchange,
  type HttpVersion,
} from "../../../packages/gateway/test/support/http-exchange.ts";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import { rawProtocols } from "../../support/protocol/raw.ts";
import { expectRestError } from "../../support/rest-error.ts";
import { knownToken, openTestServer } from "../../support/test-server.ts";

const versions: readonly HttpVersion[] = ["1.1", "2"];

describe.each(versions)("over HTTP/%s", (version) => {
  test.each(["/healthz", "/readyz"])("%s answers 200 while all is well", async (path) => {
    await using server = await openTestServer({ basePath: "/api" });
    const request = { origin: new URL(server.url).origin, version, path };
    const got = await exchange({ ...request, method: "GET" });
    expect(got.status).toBe(200);
    expect(got.body.toString()).toBe('{"status":"ok"}');
    expect(got.headers.get("content-type")).toBe("application/json");
    expect(got.headers.get("cache-control")).toBe("no-store");

    const head = await exchange({ ...request, method: "HEAD" });
    expect(head.status).toBe(200);
    expect(head.body).toHaveLength(0);
  });

  test.each(["/healthz", "/readyz"])("%s refuses another method, and says so", async (path) => {
    await using server = await openTestServer();
    const posted = await exchange({ origin: server.url, version, method: "POST", path });
    expect(posted.status).toBe(405);
    expect(posted.headers.get("allow")).toBe("GET, HEAD");
    expect(posted.body.toString()).not.toContain('"ok"');
  });

  test("both ignore a query", async () => {
    await using server = await openTestServer();
    for (const path of ["/healthz?probe=1", "/readyz?"]) {
      const got = await exchange({ origin: server.url, version, method: "GET", path });
      expect(got.status).toBe(200);
    }
  });
});

describe("while the server drains", () => {
  test.each([
    ["/readyz", 503, '{"error":14,"message":"the server is not ready"}'],
    ["/healthz", 200, '{"status":"ok"}'],
  ])("%s answers %i on a connection that is still there", async (path, status, body) => {
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
    connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    // The loop that we share with the server turns, and it has read the line.
    for (let i = 0; i < 3; i++) await nextTurn();
    lock.release();
    const answers = parseHttp1Responses(await connection.untilClosed());
    expect(answers).toMatchObject([{ status: 100 }, { status: 200 }, { status, body }]);
    await closed;
  });
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
    expect(ready.body.toString()).toBe('{"error":14,"message":"the server is not ready"}');
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
