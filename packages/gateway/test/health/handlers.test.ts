/** Health checks over plain HTTP. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createHealthHandlers } from "../../src/health/index.ts";
import { exchange, type HttpVersion } from "../support/exchange.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { openTestService } from "../support/test-service.ts";
import { answer, post, volume } from "../support/volumes.ts";

const versions: readonly HttpVersion[] = ["1.1", "2"];
const paths = ["/healthz", "/readyz"];

describe.each(versions)("over HTTP/%s", (version) => {
  test.each([...paths, "/healthz?probe=1", "/readyz?"])(
    "%s returns 200 while everything works",
    async (path) => {
      await using server = await openTestService();
      const request = { origin: server.origin, version, path };
      const got = await exchange({ ...request, method: "GET" });
      expect(got.status).toBe(200);
      expect(got.body.toString()).toBe('{"status":"ok"}');
      expect(got.headers.get("content-type")).toBe("application/json");
      expect(got.headers.get("cache-control")).toBe("no-store");

      const head = await exchange({ ...request, method: "HEAD" });
      expect(head.status).toBe(200);
      expect(head.body).toHaveLength(0);
    },
  );

  test.each(paths)("%s rejects other methods and lists the allowed ones", async (path) => {
    await using server = await openTestService();
    const posted = await exchange({ origin: server.origin, version, method: "POST", path });
    expect(posted.status).toBe(405);
    expect(posted.headers.get("allow")).toBe("GET, HEAD");
    expect(posted.body.toString()).not.toContain('"ok"');
  });
});

const notReady = '{"code":14,"message":"the server is not ready","details":[]}';

test.each([
  ["/readyz", 503, notReady],
  ["/healthz", 200, '{"status":"ok"}'],
])("while the server drains, %s returns %i on an open connection", async (path, status, body) => {
  await using server = await openTestService();
  using hold = server.hold();
  using connection = await openRawConnection(server.port);
  connection.write(post(volume));
  await hold.untilBegun();
  const closed = server.drain(2000);
  connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  // Lets the event loop, which the server shares, read the line.
  for (let i = 0; i < 3; i++) await nextTurn();
  hold.release();
  expect(parseHttp1Responses(await connection.untilClosed())).toMatchObject([
    { status: 200, body: answer },
    { status, body },
  ]);
  await closed;
});

test("/readyz depends on isReady, which may throw, and says when to retry; /healthz does not", async () => {
  let isReady = () => false;
  const handlers = () => createHealthHandlers({ isReady: () => isReady() });
  await using server = await openTestService({ handlers });
  const ask = (path: string) =>
    exchange({ origin: server.origin, version: "1.1", method: "GET", path });
  const refused = await ask("/readyz");
  expect(refused).toMatchObject({ status: 503 });
  expect(refused.body.toString()).toBe(notReady);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(await ask("/healthz")).toMatchObject({ status: 200 });
  isReady = () => true;
  expect(await ask("/readyz")).toMatchObject({ status: 200 });
  isReady = () => {
    throw new Error("the database is gone");
  };
  expect(await ask("/readyz")).toMatchObject({ status: 503 });
  isReady = (async () => true) as never;
  expect(await ask("/readyz")).toMatchObject({ status: 503 });
});

test("each prefix has both paths, and errors are rendered as configured", async () => {
  const handlers = createHealthHandlers({
    isReady: () => false,
    prefixes: ["", "/api"],
    renderError: ({ error }) => ({ status: 500, body: error.rawMessage }),
  });
  expect([...handlers.keys()].sort()).toEqual(
    ["", "/api"].flatMap((prefix) => paths.map((path) => prefix + path)).sort(),
  );
  await using server = await openTestService({ handlers: () => handlers });
  const request = { origin: server.origin, version: "1.1", method: "GET" } as const;
  const refused = await exchange({ ...request, path: "/api/readyz" });
  expect(refused).toMatchObject({ status: 500 });
  expect(refused.body.toString()).toBe('"the server is not ready"');
});
