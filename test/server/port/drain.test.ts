/** A drain of the plant store: what is under way is stored and answered, within the limit. */

import { describe, expect, test } from "vitest";
import { exchangeOn } from "../../../packages/gateway/test/support/http-exchange.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import { basil, plantHeaders as headers, plantOverHttp1 } from "../../support/plant-request.ts";
import { openSession } from "../../support/session.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { openTestServer } from "../../support/test-server.ts";

describe("a drain", () => {
  test("waits for drainTimeoutMs, and no longer, for a body that does not come", async () => {
    await using server = await openTestServer({ drainTimeoutMs: 200 });
    using connection = await openRawConnection(server.port);
    connection.write(plantOverHttp1(basil).slice(0, -1));
    await within("the end of the server", server.running.close(), 2000);
    await connection.untilClosed();
  });

  test("answers what the store has taken", async () => {
    await using server = await openTestServer();
    using lock = lockStore(server.database);
    const session = await openSession(server.url);
    const goaway = new Promise((resolve) => session.once("goaway", resolve));
    const answer = exchangeOn(session, { path: "/plants", headers, body: basil });
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
