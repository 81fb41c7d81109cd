/** A drain of the plant store: what is under way is stored and answered, within the limit. */
import { once } from "node:events";
import http2 from "node:http2";
import { describe, expect, test } from "vitest";
import { exchangeOn } from "../../../packages/gateway/test/support/http-exchange.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { knownToken, openTestServer } from "../../support/test-server.ts";

describe("a drain", () => {
  test("waits for drainTimeoutMs, and no longer, for a body that does not come", async () => {
    await using server = await openTestServer({ drainTimeoutMs: 200 });
    using connection = await openRawConnection(server.port);
    connection.write(
      `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${knownToken}\r\n` +
        "Content-Type: application/json\r\nContent-Length: 23\r\n\r\n{",
    );
    await within("the end of the server", server.running.close(), 2000);
    await connection.untilClosed();
  });

  test("answers what the store has taken", async () => {
    await using server = await openTestServer();
    using lock = lockStore(server.database);
    const session = http2.connect(server.url);
    await within("the session", once(session, "remoteSettings"));
    const goaway = new Promise((resolve) => session.once("goaway", resolve));
    const answer = exchangeOn(session, {
      path: "/plants",
      headers: { authorization: `Bearer ${knownToken}`, "content-type": "application/json" },
      body: '{"id":1,"name":"Basil"}',
    });
    await new Promise((resolve) => session.ping(resolve));
    const closed = server.close();
    await within("GOAWAY", goaway);
    lock.release();
    const { status, body } = await within("the answer", answer);
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: '{"name":"Basil"}' });
    expect(readStoredPlants(server.database)).toHaveLength(1);
    await closed;
  });

  test("is the same for all who ask for it", async () => {
    await using server = await openTestServer();
    const first = server.running.close();
    expect(server.running.close()).toBe(first);
    await first;
  });
});
