/** Several requests at once on one HTTP/1.1 connection: answers must keep their order. */
import { expect, test } from "vitest";
import { answer, post, volume } from "../support/create-volume.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { openTestService } from "../support/test-service.ts";
import { within } from "../support/within.ts";

test.each([
  ["garbage", "what is this\r\n\r\n"],
  ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
  ["headers that are too large", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
  ["half a request that never ends", "GET / HTTP/1.1\r\nHost: a\r\n"],
])("a pending answer is sent before the rejection of %s after it", async (_what, next) => {
  const refused = Promise.withResolvers<void>();
  await using service = await openTestService({
    limits: { requestTimeoutMs: 300 },
    traffic: { opened: () => {}, refused: () => refused.resolve() },
  });
  using connection = await openRawConnection(service.port);
  using hold = service.hold();
  connection.write(post(volume));
  connection.write(next);
  await within("the refusal", refused.promise);
  hold.release();
  const answers = parseHttp1Responses(await connection.untilClosed());
  expect(answers).toMatchObject([{ status: 200, body: answer }]);
  expect(service.created).toHaveLength(1);
});

test("a client that sends requests and reads no answers is cut off", async () => {
  await using service = await openTestService();
  using connection = await openRawConnection(service.port);
  using _hold = service.hold();
  connection.write(post(volume).repeat(100));
  await connection.untilClosed();
});
