/** Several servers on one PostgreSQL share a port: each serves, and one may leave. */
import { expect, test } from "vitest";
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { statusOfCreate } from "../support/plant-request.ts";
import { scrape } from "../support/scrape.ts";
import { postgresKind } from "../support/store-place.ts";
import { openTestServer, type TestServer } from "../support/test-server.ts";

test.skipIf(postgresKind.isMissing || process.platform !== "linux")(
  "two servers share a port, and when one drains the other has all of it",
  async () => {
    await using place = await postgresKind.open();
    const shared = { store: place.url, port: await findFreePort(), adminPort: 0 };
    await using one = await openTestServer({ ...shared, reusePort: true });
    await using other = await openTestServer({ ...shared, reusePort: true });
    await expect(openTestServer(shared)).rejects.toMatchObject({ code: "EADDRINUSE" });

    const opened = async ({ running }: TestServer) =>
      (await scrape(running.metricsUrl)).value("plant_store_connections_opened_total");
    for (let id = 0; id < 40; id++) expect(await statusOfCreate(one.url, id)).toBe(200);
    expect(await opened(one)).toBeGreaterThan(0);
    expect(await opened(other)).toBeGreaterThan(0);
    await one.running.close();
    for (let id = 0; id < 10; id++) expect(await statusOfCreate(other.url, id)).toBe(200);
    expect(await place.read()).toHaveLength(40);
  },
);
