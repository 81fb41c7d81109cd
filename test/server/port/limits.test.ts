/** The limits of the settings hold at the port. */
import { expect, test } from "vitest";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { openSession } from "../../support/session.ts";
import { openTestServer } from "../../support/test-server.ts";

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
  expect((await connection.untilClosed()).includes('{"status":"ok"}')).toBe(isServed);
  session.destroy();
});
