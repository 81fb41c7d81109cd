/** Failures between the store and its server: messages that do not arrive, or are not answered. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewPlant } from "../../../src/plant.ts";
import type { PostgresLimits } from "../../../src/store/postgres/limits.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { type Interference, openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf } from "../plant-of.ts";
import { openTestStore, readPlants, through, untilReady } from "./fresh.ts";

describe.skipIf(!hasPostgres)("through a proxy", () => {
  const server = sharedServer;

  /** A store behind a proxy that interferes with its writes. */
  async function openBehindProxy(limits: Partial<PostgresLimits> = {}) {
    const database = await server.current.createDatabase();
    const proxy = await openTcpProxy(server.current.port, "INSERT INTO plants");
    const store = await openTestStore(through(proxy, server.current.url(database)), limits);
    // After the store: the proxy must outlive it.
    onTestFinished(async () => {
      await store.close();
      await proxy[Symbol.asyncDispose]();
    });
    const before = proxy.seen.length;
    return { database, store, proxy, before, kept: () => readPlants(server.current, database) };
  }

  /** One of each: created, created again, rejected. */
  const first: NewPlant = { id: 1n, name: "Fern", tag: undefined };
  const other: NewPlant = { id: 1n, name: "Fern", tag: "" };

  const interferences: readonly [title: string, Interference, persists: boolean][] = [
    ["failed: the statement did not arrive", "cut", false],
    ["reported a failure but persisted: the answer was lost", "lose-answer", true],
    ["reported a failure but persisted: the end of the answer was lost", "truncate-answer", true],
  ];

  describe("a broken connection", () => {
    test.each(interferences)("%s: nobody notices", async (_, interference) => {
      const { store, proxy, before, kept } = await openBehindProxy();
      proxy.interfere = (seenBefore) => (seenBefore === before ? interference : "pass");
      const results = await Promise.allSettled([
        store.create(first),
        store.create(first),
        store.create(other),
        store.create(plantOf(2n)),
      ]);
      expect(proxy.seen.slice(before, before + 2)).toEqual([interference, "pass"]);
      expect(results.map(({ status }) => status)).toEqual([
        "fulfilled",
        "fulfilled",
        "rejected",
        "fulfilled",
      ]);
      expect(results[2]).toMatchObject({ reason: { code: "id_taken" } });
      expect(await kept()).toEqual([first, plantOf(2n)]);
    });

    test.each(interferences)(
      "%s, each time: unavailable, and the same call shows the outcome later",
      async (_, interference, persists) => {
        const { store, proxy, before, kept } = await openBehindProxy({ retryLimitMs: 1000 });
        proxy.interfere = () => interference;
        const plants = [plantOf(1n), plantOf(2n)];
        const results = await Promise.allSettled(plants.map((plant) => store.create(plant)));
        for (const result of results) {
          expect(result).toMatchObject({
            reason: { code: "unavailable", cause: expect.any(Error) },
          });
        }
        expect(proxy.seen.length - before).toBeGreaterThan(2);
        expect(await kept()).toEqual(persists ? plants : []);

        proxy.interfere = () => "pass";
        await Promise.all(plants.map((plant) => store.create(plant)));
        await expect(store.create({ ...plantOf(1n), name: "another" })).rejects.toMatchObject({
          code: "id_taken",
        });
        expect(await kept()).toEqual(plants);
      },
    );

    test("during a comparison: an owner never gets id_taken for its own plant", async () => {
      const database = await server.current.createDatabase();
      await using proxy = await openTcpProxy(server.current.port, "SELECT wanted.place");
      const store = await openTestStore(through(proxy, server.current.url(database)));
      await store.create(first);
      proxy.interfere = (seenBefore) => (seenBefore < 2 ? "lose-answer" : "pass");
      const results = await Promise.allSettled([store.create(other), store.create(first)]);
      expect(results).toMatchObject([{ reason: { code: "id_taken" } }, { status: "fulfilled" }]);
      expect(proxy.seen.slice(0, 3)).toEqual(["lose-answer", "lose-answer", "pass"]);
      await store.close();
    });
  });

  test("a server that stops answering gets a new connection", async () => {
    const { store, proxy, before, kept } = await openBehindProxy();
    proxy.interfere = (seenBefore) => (seenBefore === before ? "swallow" : "pass");
    await store.create(first);
    expect(proxy.seen.slice(before)).toEqual(["swallow", "pass"]);
    expect(await kept()).toEqual([first]);
  });

  test("the store is not ready during an outage, and recovers by itself", async () => {
    const { store, proxy } = await openBehindProxy({ retryLimitMs: 100 });
    expect(store.obstacle()).toBeUndefined();
    proxy.refuse();
    await expect(store.create(first)).rejects.toMatchObject({ code: "unavailable" });
    expect(store.obstacle()).toBe("unreachable");
    proxy.allow();
    await untilReady(store);
    await store.create(first);
  });
});
