/** Several requests at once on one connection of HTTP/1.1: answers must not change places. */
import { expect, test } from "vitest";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { lockStore } from "../../support/locked-store.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { knownToken, openTestServer } from "../../support/test-server.ts";

const body = '{"id":1,"name":"Basil"}';
const post = `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${knownToken}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test.each([
  ["garbage", "what is this\r\n\r\n"],
  ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
  ["headers that are too large", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
  ["half a request that never ends", "GET / HTTP/1.1\r\nHost: a\r\n"],
])("a plant is not answered with the refusal of %s behind it", async (_what, next) => {
  await using server = await openTestServer({ limits: { requestTimeoutMs: 300 } });
  using connection = await openRawConnection(server.port);
  const lock = lockStore(server.database);
  connection.write(post);
  connection.write(next);
  // The refusal is due before the plant can be stored.
  await expect.poll(() => connection.socket.bytesWritten).toBeGreaterThan(post.length);
  setTimeout(() => lock.release(), 800);
  const answers = parseHttp1Responses(await connection.untilClosed());
  expect(answers.slice(0, 1)).toMatchObject([{ status: 200, body: '{"name":"Basil"}' }]);
  expect(readStoredPlants(server.database)).toHaveLength(1);
});

test("a client that sends requests and takes no answers is cut off", async () => {
  await using server = await openTestServer();
  using connection = await openRawConnection(server.port);
  using lock = lockStore(server.database);
  connection.write(post.repeat(100));
  await connection.untilClosed();
  lock.release();
});
