/** The limits of the settings hold at the port, and what it refuses looks as all errors do. */
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { expectRestError } from "../../support/rest-error.ts";
import { openSession } from "../../support/session.ts";
import { openTestServer } from "../../support/test-server.ts";

test("headers that do not end within requestTimeoutMs are refused", async () => {
  await using server = await openTestServer({ limits: { requestTimeoutMs: 300 } });
  using connection = await openRawConnection(server.port);
  connection.write("POST /plants HTTP/1.1\r\nHost: a\r\nX: ");
  const [response] = parseHttp1Responses(await connection.untilClosed());
  expect(response?.status).toBe(408);
  const { headers = [], body = "" } = response ?? {};
  expectRestError({ headers: new Headers([...headers]), body }, { error: Code.DeadlineExceeded });
});

test.each<[exempt: string[], isServed: boolean]>([
  [[], false],
  [["127.0.0.0/8"], true],
])("with %j exempt, a connection over connectionsPerAddressMax: %s", async (exempt, isServed) => {
  const limits = { connectionsPerAddressMax: 1, connectionsExempt: exempt, streamsMax: 2 };
  await using server = await openTestServer({ limits });
  const session = await openSession(server.url);
  expect(session.remoteSettings.maxConcurrentStreams).toBe(2);
  using connection = await openRawConnection(server.port);
  connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const received = await connection.untilClosed();
  expect(received.includes('{"status":"ok"}')).toBe(isServed);
  session.destroy();
});
