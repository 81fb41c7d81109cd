/** Behind a pooler, a session of the server is not a session of the store. */
import { describe, expect, test } from "vitest";
import { openStore } from "../../support/open-store.ts";
import { hasPgbouncer, poolModes, startPgbouncer } from "../../support/pgbouncer.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { openDatabases } from "../../support/postgres-databases.ts";
import { hasPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { useOpened } from "../../support/use-test-server.ts";
import { plantOf, plantsOf } from "../plant-of.ts";
import { storeSuite, untilObstacle } from "../suite.ts";
import { openDatabase, openFresh, openTestStore, through, useServer } from "./fresh.ts";

const cannotRun = !hasPostgres || !hasPgbouncer;

describe.skipIf(cannotRun)("with the shared server", () => {
  // In session mode, it is as without one.
  const pooler = useOpened(() => startPgbouncer(sharedServer.current.port, "transaction"));

  storeSuite("postgres, behind PgBouncer", async () => {
    const role = await sharedServer.current.createRole();
    await sharedServer.current.query(`CREATE SCHEMA AUTHORIZATION ${role}`);
    return () => openStore(through(pooler, sharedServer.current.url("postgres", role)));
  });

  test("no setting of the store leaks to other clients, and no cancel ends the pooler", async () => {
    const { database, url, sessions } = await openDatabase(sharedServer.current);
    const limits = { retryLimitMs: 1, cancelGraceMs: 9999 };
    const store = await openTestStore(through(pooler, url), limits);
    await store.create(plantOf(1));
    const { query } = openDatabases(pooler.port, []);
    // PgBouncer itself sets what it tracks for each of its clients.
    const left = `SELECT name FROM pg_settings
      WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding')`;
    expect(await query(left, database)).toEqual([]);
    expect(await sessions(), "the session was the store's").toHaveLength(1);
    await using holder = await openPostgresClient(url);
    await holder.query("BEGIN; LOCK TABLE plants");
    await expect(store.create(plantOf(2))).rejects.toHaveProperty("cause.code", "57014");
    await holder.query("ROLLBACK");
    await store.create(plantOf(2));
    await store.close();
  });

  test("a pooler in statement mode is rejected, as no probe would succeed there", async () => {
    const { url } = await openFresh(sharedServer.current);
    await using own = await startPgbouncer(sharedServer.current.port, "statement");
    await expect(openTestStore(through(own, url), { retryLimitMs: 1 })).rejects.toThrow("08P01");
  });
});

describe.skipIf(cannotRun)("with a server that crashes", () => {
  // A crash loses what the WAL writer has not written yet. Here, it waits long.
  const server = useServer({ settings: { wal_writer_delay: "10s" } });

  test.each(poolModes)("%s mode: no plant is lost despite synchronous_commit=off", async (mode) => {
    const { database, url, kept, sessions } = await openDatabase(server.current);
    await server.current.query(`ALTER DATABASE ${database} SET synchronous_commit = off`);
    await using pooler = await startPgbouncer(server.current.port, mode);
    const store = await openTestStore(through(pooler, url));
    await store.create(plantOf(0));
    // The next statements run in sessions that the store has not used.
    await sessions("true", "pg_terminate_backend(pid)");
    for (const plant of plantsOf(50)) await store.create(plant);
    await server.current.stop("kill");
    await server.current.start();
    expect(await kept()).toEqual(plantsOf(50));
    await untilObstacle(store);
    await store.close();
  });
});
