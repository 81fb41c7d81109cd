/** The limits of the settings hold at the port, and what it refuses looks as all errors do. */

import { once } from "node:events";
import http2 from "node:http2";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { expectRestError } from "../../support/rest-error.ts";
import { openTestServer } from "../../support/test-server.ts";

test.each([
  ["headers that are too large", { headerBytesMax: 1000 }, `X: ${"x".repeat(1000)}\r\n`, 431],
  ["headers that do not end", { requestTimeoutMs: 300 }, "X: ", 408],
])("%s are refused, over %j", async (_what, limits, more, status) => {
  await using server = await openTestServer({ limits });
  using connection = await openRawConnection(server.port);
  connection.write(`POST /plants HTTP/1.1\r\nHost: a\r\n${more}`);
  const [response] = parseHttp1Responses(await connection.untilClosed());
  if (response === undefined) throw new Error("no answer");
  expect(response.status).toBe(status);
  const headers = new Headers([...response.headers]);
  const error = status === 408 ? Code.DeadlineExceeded : Code.ResourceExhausted;
  expectRestError({ headers, body: response.body }, { error });
});

test.each<[exempt: string[], count: number]>([
  [[], 2],
  [["127.0.0.0/8"], 3],
])(
  "with %j exempt, %i of 3 connections are open, over connectionsPerAddressMax",
  async (exempt, count) => {
    const limits = { connectionsPerAddressMax: 2, connectionsExempt: exempt };
    await using server = await openTestServer({ limits });
    using stack = new DisposableStack();
    let open = 0;
    for (let i = 0; i < 3; i++) {
      const connection = stack.use(await openRawConnection(server.port));
      connection.write(
        `GET /healthz HTTP/1.1\r\nHost: a\r\n${i === 2 ? "Connection: close\r\n" : ""}\r\n`,
      );
      const isAnswered = (received: Buffer) => received.includes('{"status":"ok"}');
      if (i < 2) await connection.until("an answer", isAnswered);
      if (i < 2 || isAnswered(await connection.untilClosed())) open++;
    }
    expect(open).toBe(count);
  },
);

test("a session is told streamsMax", async () => {
  await using server = await openTestServer({ limits: { streamsMax: 2 } });
  const session = http2.connect(server.url);
  const [settings] = await within("the settings", once(session, "remoteSettings"));
  expect(settings.maxConcurrentStreams).toBe(2);
  session.destroy();
});
