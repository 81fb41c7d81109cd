import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createCertificate,
  hasOpenssl,
} from "../../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import type { StoreOpenErrorCode } from "../../../src/store/open-error.ts";
import { migrations } from "../../../src/store/postgres/schema.ts";
import { openStore, readSchemaState } from "../../support/open-store.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { password } from "../../support/postgres-databases.ts";
import { hasPostgres, startPostgres } from "../../support/postgres-server.ts";
import { sharedServer } from "../../support/shared-postgres.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { plantOf, plantsOf } from "../plant-of.ts";
import { expectKept, untilObstacle } from "../suite.ts";
import { openDatabase, openTestStore, through, until, useServer } from "./fresh.ts";

const latest = migrations.length;

describe.skipIf(!hasPostgres)("on the shared server", () => {
  const server = sharedServer;

  test("a new database gets its tables and the current schema version", async () => {
    const { url, sessions } = await openDatabase(server.current);
    expect(await readSchemaState(url)).toEqual({ version: 0, latest });
    // The scheme may be postgresql, in any case.
    const store = await openStore(url.replace("postgres:", "PostgreSQL:"));
    await store.create(plantOf(1));
    await store.close();
    expect(await readSchemaState(url)).toEqual({ version: latest, latest });
    await until("the end of all sessions", async () => (await sessions()).length === 0);
  });

  test("a server without a free connection is tried again, for a while", async () => {
    const { database, url, query } = await openDatabase(server.current);
    await (await openTestStore(url)).close();
    const role = await server.current.createRole("CONNECTION LIMIT 1");
    await query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
    const own = server.current.url(database, role);
    await using proxy = await openTcpProxy(server.current.port, role);
    const holder = await openPostgresClient(own);
    await expectRefused(own, "in_use", /no connection left.*53300/);
    const opening = openTestStore(through(proxy, own));
    await expect.poll(() => proxy.seen.length).toBeGreaterThan(1);
    await holder[Symbol.asyncDispose]();
    await opening;
  });

  const hideLocks = "CREATE FUNCTION public.pg_advisory_xact_lock(bigint) RETURNS void";

  test.each([
    ["", ""],
    // As in CockroachDB.
    [", where advisory locks do nothing", `${hideLocks} LANGUAGE sql AS 'SELECT'`],
  ])("many processes that open a new database at once migrate it once%s", async (_, prepare) => {
    const { database, url, query, kept } = await openDatabase(server.current);
    await query(prepare);
    await query(`ALTER DATABASE ${database} SET search_path = public, pg_catalog`);
    const stores = await Promise.all(Array.from({ length: 8 }, () => openTestStore(url)));
    await Promise.all(stores.map((store, id) => store.create(plantOf(id))));
    const applied = await query("SELECT version FROM plant_store_migrations");
    expect(applied).toEqual(migrations.map((_, index) => ({ version: `${index + 1}` })));
    expect(await kept()).toEqual(plantsOf(8));
  });

  test("a process that died during a migration leaves no obstacle", async () => {
    const { url } = await openDatabase(server.current);
    await using proxy = await openTcpProxy(server.current.port, "CREATE TABLE public.plants");
    proxy.interfere = () => "lose-answer";
    await expect(openTestStore(through(proxy, url))).rejects.toThrow();
    await (await openTestStore(url)).create(plantOf(1));
  });

  test("a role that can only read and write rows is enough if the tables exist", async () => {
    const { database, url, query } = await openDatabase(server.current);
    const role = await server.current.createRole();
    const own = server.current.url(database, role);
    await query("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    await expectRefused(own, "inaccessible", /permission denied.*42501/);
    await (await openTestStore(url)).close();
    await expectRefused(own, "inaccessible", /permission denied.*42501/);
    await query(`GRANT SELECT, INSERT, UPDATE ON plants TO ${role};
      GRANT SELECT ON plant_store_migrations TO ${role}`);
    const store = await openTestStore(own);
    await store.create(plantOf(1));
    await expectKept(store, plantOf(1));
  });

  test.each(["LATIN1", "SQL_ASCII"])("a database in %s is rejected", async (encoding) => {
    const { url, query } = await openDatabase(server.current, `ENCODING '${encoding}'`);
    await expectRefused(url, "unsupported", new RegExp(`encoded in ${encoding}.*'UTF8'`));
    expect(await query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  });

  const newer = `INSERT INTO plant_store_migrations (version) VALUES (${latest + 1}), (${latest + 2})`;
  const asView = "ALTER TABLE plants RENAME TO trees; CREATE VIEW plants AS TABLE trees";
  const keyless = "ALTER TABLE plants DROP CONSTRAINT plants_pkey";

  test.each<[string, StoreOpenErrorCode, RegExp, string]>([
    ["of a newer release", "newer_schema", /version (\d+), .*knows \d+/, newer],
    ["without its table", "damaged", /missing.*42P01/, "DROP TABLE plants"],
    ["without a column", "damaged", /column tag/, "ALTER TABLE plants DROP COLUMN tag"],
    ["that may trim", "damaged", /column name/, "ALTER TABLE plants ALTER name TYPE varchar(9)"],
    ["without its primary key", "damaged", /primary key/, keyless],
    ["published", "damaged", /publication/, "CREATE PUBLICATION p FOR TABLE plants WHERE (tag='')"],
    ["that a crash would empty", "not_durable", /unlogged/, "ALTER TABLE plants SET UNLOGGED"],
    ["with a view of it", "unsupported", /is a view/, asView],
    ["with heirs", "unsupported", /INHERITS/, "CREATE TABLE heirs () INHERITS (plants)"],
    ["of another program", "foreign", /another program/, "DROP TABLE plant_store_migrations"],
  ])("a database %s is rejected and left unchanged", async (_, code, message, damage) => {
    const { url, query, sessions } = await openDatabase(server.current);
    await (await openTestStore(url)).close();
    await query(damage);
    const schema = `SELECT c.relname, c.relpersistence, a.attname, a.atttypid FROM pg_class c
      JOIN pg_attribute a ON attrelid = c.oid WHERE relnamespace = 'public'::regnamespace
      ORDER BY 1, 3`;
    const before = await query(schema);
    await expectRefused(url, code, message, 3_600_000);
    expect(await query(schema)).toEqual(before);
    await until("the end of all sessions", async () => (await sessions()).length === 0);
  });

  test.each<[string, RegExp, string, RegExp]>([
    ["a wrong password", /:[^:@]*@/, ":wrong@", /user or password.*28P01/],
    ["no password", /:[^:@]*@/, "@", /cannot connect|user or password/],
    ["no such role", /postgres:(?!\/)/, "nobody:", /user or password.*28P01/],
    ["no such database", /plants_[0-9a-f]+_\d+/, "none", /no such database.*3D000/],
    ["TLS with a server that has none", /$/, "&sslmode=require", /SSL.*sslmode/],
    ["nobody there", /:\d+\//, ":1/", /:1 \(ECONNREFUSED\)/],
    ["no such host", /127\.0\.0\.1/, "nowhere.invalid", /nowhere\.invalid/],
  ])("%s: startup fails", async (_, part, replacement, message) => {
    const { url } = await openDatabase(server.current);
    await expectRefused(url.replace(part, replacement), "inaccessible", message);
  });

  test.each([[[]], [["sslmode=require"]]])("a silent server times out, with %j", async (params) => {
    await using proxy = await openTcpProxy(server.current.port, "");
    proxy.interfere = () => "swallow";
    const url = through(proxy, server.current.url("postgres", "postgres", ...params));
    const opening = openTestStore(url, { connectTimeoutMs: 50 });
    const message = expect.stringContaining("(ETIMEDOUT)");
    await expect(opening).rejects.toMatchObject({ code: "inaccessible", message });
  });
});

describe.skipIf(!hasPostgres)("on a server with changeable settings", () => {
  const server = useServer();

  test.each(["fsync", "full_page_writes"])("a server with %s=off is rejected", async (name) => {
    const other = name === "fsync" ? "full_page_writes" : "fsync";
    const { url } = await openDatabase(server.current);
    onTestFinished(() => server.current.set(name, "on"));
    await server.current.set(name, "off");
    await expectRefused(url, "not_durable", new RegExp(`${name}=off.*allow_unsafe=${name}`));
    await expectRefused(`${url}?allow_unsafe=${other}`, "not_durable", new RegExp(`${name}=off`));
    await (await openTestStore(`${url}?allow_unsafe=${name}`)).create(plantOf(1));
  });
});

test.skipIf(!hasPostgres)("a server that comes back with fsync=off is not written to", async () => {
  await using server = await startPostgres();
  const { url, kept } = await openDatabase(server);
  const store = await openTestStore(url, { retryLimitMs: 300 });
  await store.create(plantOf(1));
  await server.stop("fast");
  await server.start({ fsync: "off" });
  await expect(store.create(plantOf(2))).rejects.toMatchObject({ code: "unavailable" });
  await untilObstacle(store, "not_durable");
  expect(await kept()).toEqual([plantOf(1)]);
  await store.close();
});

test.skipIf(!hasPostgres || !hasOpenssl)(
  "a server with TLS is used encrypted, and distinguished from another server on request",
  async () => {
    await using folder = await createTemporaryFolder();
    const certificate = createCertificate(folder.path, "server");
    const other = createCertificate(folder.path, "other");
    await using server = await startPostgres({
      settings: { ssl: "on" },
      files: { "server.crt": certificate.pem, "server.key": await readFile(certificate.keyFile) },
    });
    const { url, sessions } = await openDatabase(server);
    const verified = (file: string) =>
      `${url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
    const contrary = verified(certificate.certFile).replace("verify-full", "require");
    await expect(openStore(contrary)).rejects.toThrow("requires sslmode=verify-full");
    const encrypted = "pid IN (SELECT pid FROM pg_stat_ssl WHERE ssl)";
    for (const own of [url, `${url}?sslmode=require`, verified(certificate.certFile)]) {
      const store = await openStore(own);
      await store.create(plantOf(1));
      expect(await sessions(encrypted), own).toHaveLength(own === url ? 0 : 1);
      await store.close();
    }
    // A CancelRequest in plaintext: its length, and the first byte of its code.
    await using proxy = await openTcpProxy(server.port, "\0\0\0\x10\x04");
    const proxied = through(proxy, verified(certificate.certFile));
    const store = await openTestStore(proxied, { retryLimitMs: 1 });
    // Cuts at each ClientHello of a cancel.
    await using cutting = await openTcpProxy(server.port, "\x16\x03\x01");
    const byCutting = through(cutting, verified(certificate.certFile));
    const cut = await openTestStore(byCutting, { retryLimitMs: 1 });
    cutting.interfere = () => "cut";
    await using locked = await openPostgresClient(url);
    await locked.query("BEGIN; LOCK TABLE plants");
    await expect(store.create(plantOf(2))).rejects.toMatchObject({ cause: { code: "57014" } });
    expect(proxy.seen).toEqual([]);
    await expect(cut.create(plantOf(2))).rejects.toMatchObject({ code: "unavailable" });
    await locked.query("ROLLBACK");
    await store.close();
    for (const wrong of [verified(other.certFile), `${url}?sslmode=verify-full`]) {
      await expect(openStore(wrong)).rejects.toMatchObject({ code: "inaccessible" });
    }
    // Another CA, for which nothing has to be restarted here.
    const rotated = await openTestStore(verified(certificate.certFile));
    await server.stop("fast");
    // Into the same files, which belong to the server's user.
    await writeFile(join(server.data, "server.crt"), other.pem);
    await writeFile(join(server.data, "server.key"), await readFile(other.keyFile));
    await writeFile(certificate.certFile, other.pem);
    await server.start();
    await rotated.create(plantOf(3));
  },
);

async function expectRefused(url: string, code: StoreOpenErrorCode, message: RegExp, waitMs = 200) {
  const opened = openTestStore(url, { retryLimitMs: waitMs }).then(() => new Error("opened"));
  const error = await opened.catch((reason: Error) => reason);
  expect(error).toMatchObject({ name: "StoreOpenError", code });
  expect(error.message).toMatch(message);
  expect(error.message).not.toMatch(/\n/);
  const everything = inspect(error, { depth: 20, showHidden: true });
  expect(everything).not.toContain(password);
  expect(everything).not.toContain(encodeURIComponent(password));
}
