import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createCertificate,
  hasOpenssl,
} from "../../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { openStore, readSchemaState } from "../../../src/store/open.ts";
import type { StoreOpenErrorCode } from "../../../src/store/open-error.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { password } from "../../support/postgres-databases.ts";
import { hasPostgres, startPostgres } from "../../support/postgres-server.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf } from "../plant-of.ts";
import { expectKept } from "../suite.ts";
import { untilObstacle } from "../until-obstacle.ts";
import { openTestStore, readPlants, through, useServer, withoutSync } from "./fresh.ts";

describe.skipIf(!hasPostgres)("on its own server", () => {
  const server = useServer({ settings: withoutSync });

  test("a new database gets its tables and the current schema version", async () => {
    const url = server.current.url(await server.current.createDatabase());
    expect(await readSchemaState(url)).toEqual({ version: 0, latest: 1 });
    await (await openStore(url)).close();
    expect(await readSchemaState(url)).toEqual({ version: 1, latest: 1 });
  });

  test("the scheme may be postgresql, in any case", async () => {
    const url = server.current.url(await server.current.createDatabase());
    const store = await openStore(url.replace("postgres:", "PostgreSQL:"));
    onTestFinished(() => store.close());
    await store.create(plantOf(1n));
  });

  test.each<[string, (database: string) => Promise<unknown>]>([
    ["", async () => {}],
    // As in CockroachDB.
    [
      ", where advisory locks do nothing",
      async (database) => {
        await server.current.query(
          `CREATE FUNCTION public.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS 'SELECT'`,
          database,
        );
        await server.current.query(
          `ALTER DATABASE ${database} SET search_path = public, pg_catalog`,
        );
      },
    ],
  ])("many processes that open a new database at once migrate it once%s", async (_, prepare) => {
    const database = await server.current.createDatabase();
    await prepare(database);
    const url = server.current.url(database);
    const stores = await Promise.all(Array.from({ length: 8 }, () => openTestStore(url)));
    await Promise.all(stores.map((store, id) => store.create(plantOf(BigInt(id)))));
    const rows = await server.current.query("SELECT version FROM plant_store_migrations", database);
    expect(rows).toEqual([{ version: "1" }]);
    expect(await readPlants(server.current, database)).toHaveLength(8);
  });

  test("a process that died during a migration leaves no obstacle", async () => {
    const database = await server.current.createDatabase();
    await using proxy = await openTcpProxy(server.current.port, "CREATE TABLE plants");
    proxy.interfere = () => "lose-answer";
    await expect(openTestStore(through(proxy, server.current.url(database)))).rejects.toThrow();
    const store = await openTestStore(server.current.url(database));
    await store.create(plantOf(1n));
  });

  test("a role that can only read and write rows is enough if the tables exist", async () => {
    const database = await server.current.createDatabase();
    const role = await server.current.createRole();
    const url = server.current.url(database, role);
    await server.current.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC", database);
    await expectRefused(url, "inaccessible", /permission denied.*42501/);
    await (await openTestStore(server.current.url(database))).close();
    await expectRefused(url, "inaccessible", /permission denied.*42501/);
    await server.current.query(
      `GRANT SELECT, INSERT, UPDATE ON plants TO ${role};
       GRANT SELECT ON plant_store_migrations TO ${role}`,
      database,
    );
    const store = await openTestStore(url);
    await store.create(plantOf(1n));
    await expectKept(store, plantOf(1n));
  });

  test.each<[string, StoreOpenErrorCode, RegExp, string]>([
    ["LATIN1", "unsupported", /encoded in LATIN1.*'UTF8'/, "ENCODING 'LATIN1'"],
    ["SQL_ASCII", "unsupported", /encoded in SQL_ASCII.*'UTF8'/, "ENCODING 'SQL_ASCII'"],
  ])("a database in %s is rejected", async (_, code, message, options) => {
    const database = await server.current.createDatabase(options);
    await expectRefused(server.current.url(database), code, message);
    expect(
      await server.current.query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'", database),
    ).toEqual([]);
  });

  test.each<[string, StoreOpenErrorCode, RegExp, string]>([
    [
      "of a newer release",
      "newer_schema",
      /version 3, .*knows 1/,
      "INSERT INTO plant_store_migrations (version) VALUES (2), (3)",
    ],
    ["without its table", "damaged", /missing.*42P01/, "DROP TABLE plants"],
    ["without a column", "damaged", /column tag/, "ALTER TABLE plants DROP COLUMN tag"],
    ["with text for ids", "damaged", /column id/, "ALTER TABLE plants ALTER id TYPE text"],
    ["that may trim", "damaged", /column name/, "ALTER TABLE plants ALTER name TYPE varchar(9)"],
    ["that pads", "damaged", /column tag/, "ALTER TABLE plants ALTER tag TYPE char(9)"],
    ["with a column of another type", "damaged", /type/, "ALTER TABLE plants ALTER id TYPE text"],
    [
      "without its primary key",
      "damaged",
      /primary key/,
      "ALTER TABLE plants DROP CONSTRAINT plants_pkey",
    ],
    ["that a crash would empty", "not_durable", /unlogged/, "ALTER TABLE plants SET UNLOGGED"],
    ["of another program", "foreign", /another program/, "DROP TABLE plant_store_migrations"],
  ])("a database %s is rejected and left unchanged", async (_, code, message, damage) => {
    const database = await server.current.createDatabase();
    const url = server.current.url(database);
    await (await openTestStore(url)).close();
    await server.current.query(damage, database);
    const schema = () =>
      server.current.query(
        `SELECT c.relname, c.relpersistence, a.attname, a.atttypid FROM pg_class c
         JOIN pg_attribute a ON attrelid = c.oid WHERE relnamespace = 'public'::regnamespace
         ORDER BY 1, 3`,
        database,
      );
    const before = await schema();
    await expectRefused(url, code, message);
    expect(await schema()).toEqual(before);
  });

  test.each<[string, (url: string) => string, RegExp]>([
    ["a wrong password", (url) => url.replace(/:[^:@]*@/, ":wrong@"), /user or password.*28P01/],
    ["no password", (url) => url.replace(/:[^:@]*@/, "@"), /cannot connect|user or password/],
    ["no such role", (url) => url.replace("//postgres:", "//nobody:"), /user or password.*28P01/],
    ["no such database", (url) => url.replace(/plants_\d+/, "none"), /no such database.*3D000/],
    ["TLS with a server that has none", (url) => `${url}&sslmode=require`, /TLS.*sslmode/],
    ["nobody there", (url) => url.replace(/:\d+\//, ":1/"), /:1 \(ECONNREFUSED\)/],
    ["no such host", (url) => url.replace("127.0.0.1", "nowhere.invalid"), /nowhere\.invalid/],
  ])("%s: startup fails", async (_, change, message) => {
    const database = await server.current.createDatabase();
    await expectRefused(change(server.current.url(database)), "inaccessible", message);
  });

  test.each([[[]], [["sslmode=require"]]])(
    "a server that does not answer times out, with %j",
    async (params) => {
      await using proxy = await openTcpProxy(server.current.port, "");
      proxy.interfere = () => "swallow";
      const url = through(proxy, server.current.url("postgres", "postgres", ...params));
      await expect(openTestStore(url, { connectTimeoutMs: 50 })).rejects.toMatchObject({
        code: "inaccessible",
      });
    },
  );
});

describe.skipIf(!hasPostgres)("on a server with changeable settings", () => {
  const server = useServer();

  test.each(["fsync", "full_page_writes"])("a server with %s=off is rejected", async (name) => {
    const database = await server.current.createDatabase();
    const url = server.current.url(database);
    onTestFinished(() => server.current.set(name, "on"));
    await server.current.set(name, "off");
    await expectRefused(url, "not_durable", new RegExp(`${name}=off.*allow_unsafe=${name}`));
    const other = name === "fsync" ? "full_page_writes" : "fsync";
    await expectRefused(`${url}?allow_unsafe=${other}`, "not_durable", new RegExp(`${name}=off`));
    const store = await openTestStore(`${url}?allow_unsafe=${name}`);
    await store.create(plantOf(1n));
  });
});

describe.skipIf(!hasPostgres)("a server that comes back with fsync=off", () => {
  test("is not written to", async () => {
    await using server = await startPostgres();
    const database = await server.createDatabase();
    const store = await openTestStore(server.url(database), { retryLimitMs: 300 });
    await store.create(plantOf(1n));
    await server.stop("fast");
    await server.start({ fsync: "off" });
    await expect(store.create(plantOf(2n))).rejects.toMatchObject({ code: "unavailable" });
    await untilObstacle(store, "not_durable");
    expect(await readPlants(server, database)).toEqual([plantOf(1n)]);
    await store.close();
  });
});

describe.skipIf(!hasPostgres || !hasOpenssl)("a server with TLS", () => {
  test("is used encrypted, and distinguished from another server on request", async () => {
    await using folder = await createTemporaryFolder();
    const certificate = createCertificate(folder.path, "server");
    const other = createCertificate(folder.path, "other");
    await using server = await startPostgres({
      settings: { ssl: "on" },
      files: { "server.crt": certificate.certFile, "server.key": certificate.keyFile },
    });
    const database = await server.createDatabase();
    const url = server.url(database);
    const isEncrypted = async () =>
      (
        await server.query(
          `SELECT bool_and(ssl) AS all FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
           WHERE datname = '${database}' AND application_name = 'plant-store'`,
        )
      )[0]?.["all"];
    const verified = `?sslmode=verify-full&sslrootcert=${encodeURIComponent(certificate.certFile)}`;
    for (const [params, expected] of [
      ["", false],
      ["?sslmode=require", true],
      [verified, true],
    ] as const) {
      const store = await openStore(url + params);
      await store.create(plantOf(1n));
      expect(await isEncrypted(), params).toBe(expected);
      await store.close();
    }
    // A CancelRequest in plaintext: its length, and the first byte of its code.
    await using proxy = await openTcpProxy(server.port, "\0\0\0\x10\x04");
    const stored = await openTestStore(through(proxy, url) + verified, { retryLimitMs: 1 });
    await using locked = await openPostgresClient(url);
    await locked.query("BEGIN; LOCK TABLE plants");
    await expect(stored.create(plantOf(2n))).rejects.toMatchObject({
      cause: { code: "57014" }, // query_canceled
    });
    expect(proxy.seen).toEqual([]);
    await locked.query("ROLLBACK");
    await stored.close();
    const wrong = `?sslmode=verify-full&sslrootcert=${encodeURIComponent(other.certFile)}`;
    for (const params of [wrong, "?sslmode=verify-full"]) {
      await expect(openStore(url + params)).rejects.toMatchObject({ code: "inaccessible" });
    }
  });
});

async function expectRefused(url: string, code: StoreOpenErrorCode, message: RegExp) {
  const error: unknown = await openTestStore(url, { retryLimitMs: 200 }).then(
    () => new Error("it was opened"),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: "StoreOpenError", code });
  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).not.toMatch(/\n/);
  const everything = inspect(error, { depth: 20, showHidden: true });
  expect(everything).not.toContain(password);
  expect(everything).not.toContain(encodeURIComponent(password));
}
