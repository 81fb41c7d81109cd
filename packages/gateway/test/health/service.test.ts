/** grpc.health.v1.Health on a router. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { addHealth, Health, HealthCheckResponse_ServingStatus } from "../../src/health/index.ts";
import { openGateway } from "../support/gateway.ts";
import { openProtocols } from "../support/open-client.ts";
import { readWatch } from "../support/read-watch.ts";
import { within } from "../support/within.ts";

const { SERVING } = HealthCheckResponse_ServingStatus;

describe.each(openProtocols)("over $name", ({ open, version }) => {
  test("a client that leaves makes room for another watch", async () => {
    await using gateway = await openGateway({
      routes: (router) => {
        addHealth(router, { watchesMax: 1 });
      },
    });
    using health = open(Health, gateway.origin(version));
    const leaving = new AbortController();
    const first = readWatch(health.client.watch({}, { signal: leaving.signal }));
    expect(await first.next()).toBe(SERVING);
    expect(await readWatch(health.client.watch({})).end()).toBe(Code.ResourceExhausted);
    leaving.abort();
    const untilRoom = async () => {
      for (;;) {
        const status = await readWatch(health.client.watch({}))
          .next()
          .catch(() => undefined);
        if (status !== undefined) return status;
      }
    };
    expect(await within("room", untilRoom())).toBe(SERVING);
  });
});
