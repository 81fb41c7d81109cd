/** The limits of the settings hold at the port. */
import { expect, test } from "vitest";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { spawnServer } from "../../support/child-server.ts";
import { statusOfCreate } from "../../support/plant-request.ts";
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

test("more idle connections than files may be open keep nobody out", async () => {
  await using server = await spawnServer({ filesMax: 64 });
  using idle = new DisposableStack();
  for (let i = 0; i < 100; i++) idle.use(await openRawConnection(server.port));
  expect(await statusOfCreate(server.url, 1)).toBe(200);
});
