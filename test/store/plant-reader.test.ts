/** The promises of the PlantReader port, on every engine. */
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { int64Max, type NewPlant } from "../../src/plant.ts";
import {
  defaultPageLimits,
  type PageLimits,
  type PlantReader,
  readPages,
} from "../../src/store/plant-reader.ts";
import { openPlantReader } from "../support/open-store.ts";
import { openPostgresClient } from "../support/postgres-client.ts";
import { password } from "../support/postgres-databases.ts";
import { hasPostgres, startPostgres } from "../support/postgres-server.ts";
import { sharedServer } from "../support/shared-postgres.ts";
import { plantOf, plantsOf } from "./plant-of.ts";
import { openDatabase, until, withoutSync } from "./postgres/fresh.ts";
import { damageLeaf, freshFile, type PlaceKind, placeKinds, seed } from "./reader-places.ts";

const kinds = placeKinds(sharedServer);

async function open(url: string): Promise<PlantReader> {
  const reader = await openPlantReader(url);
  onTestFinished(() => reader[Symbol.asyncDispose]());
  return reader;
}

async function pagesOf(reader: PlantReader, limits: Partial<PageLimits> = {}) {
  const pages: (readonly NewPlant[])[] = [];
  const whole = { ...defaultPageLimits, ...limits };
  for await (const page of readPages(reader, { limits: whole })) pages.push(page);
  return pages;
}

describe.each(kinds)("$name", ({ name, isMissing, fresh }: PlaceKind) => {
  const testHere = test.skipIf(isMissing);

  testHere("a page has no more rows than asked for", async () => {
    const { url } = await fresh();
    const plants = Array.from({ length: 2500 }, (_, id) => plantOf(3 * id));
    await seed(url, plants);
    const pages = await pagesOf(await open(url));
    expect(pages.map((page) => page.length)).toEqual([1000, 1000, 500]);
    expect(pages.flat()).toStrictEqual(plants);
  });

  testHere("a page has no more bytes than asked for, but for a plant that is larger", async () => {
    const { url } = await fresh();
    // 30 bytes each in UTF-8, name and tag together; one has 300.
    const texts = { name: "\u00e9".repeat(10), tag: "x".repeat(10) };
    const plants = plantsOf(7).map(({ id }) => ({ id: int64Max - 6n + id, ...texts }));
    await seed(url, plants.with(5, { ...texts, id: int64Max - 1n, name: "x".repeat(290) }));
    const pages = await pagesOf(await open(url), { bytesMax: 60 });
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1, 1, 1]);
  });

  testHere("reading begins at an id, whether it is there or not", async () => {
    const { url } = await fresh();
    await seed(url, [1, 5, 9].map(plantOf));
    const reader = await open(url);
    const from = (id: bigint) => reader.readPage(id, defaultPageLimits);
    expect(await from(5n)).toEqual([5, 9].map(plantOf));
    expect(await from(6n)).toEqual([plantOf(9)]);
    await seed(url, [plantOf(10)]);
    expect(await from(10n)).toEqual([]); // a snapshot
  });

  testHere("a plant without a name is an error that names it", async () => {
    const { url, execute } = await fresh();
    await seed(url, [1, 5].map(plantOf));
    const isSqlite = name === "SQLite";
    const table = "CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, tag TEXT)";
    await execute(
      isSqlite ? `DROP TABLE plants; ${table}` : `ALTER TABLE plants ALTER name DROP NOT NULL`,
    );
    await execute("INSERT INTO plants (id) VALUES (7)");
    await expect(open(url).then(pagesOf)).rejects.toThrow(
      isSqlite ? /plant 7 .*no name/ : /column name .*no NOT NULL/,
    );
  });

  testHere("a store that is not there is refused, and not made", async () => {
    const { url, execute } = await fresh();
    const opening = openPlantReader(url);
    await expect(opening).rejects.toMatchObject({ name: "StoreOpenError" });
    await expect(opening).rejects.toThrow(/check the store URL/);
    if (name === "SQLite") expect(await readdir(dirname(url.slice("sqlite:".length)))).toEqual([]);
    else await expect(execute("SELECT 1 FROM plants")).rejects.toThrow();
  });
});

describe("SQLite only", () => {
  async function broken(sql: string): Promise<string> {
    const place = await freshFile();
    await seed(place.url, [plantOf(1), { id: 2n, name: "\ufffd", tag: "\ufffd" }, plantOf(3)]);
    await place.execute(sql);
    return place.url;
  }

  test.each([
    ["name", "x'c328'"],
    // As many bytes as the U+FFFD that a driver replaces it with.
    ["name", "x'f09f8c'"],
    ["tag", "x'eda080'"],
  ])("a %s that is not UTF-8 (%s) is an error that names the plant", async (column, bytes) => {
    const url = await broken(`UPDATE plants SET ${column} = CAST(${bytes} AS TEXT) WHERE id = 3`);
    const reader = await open(url);
    expect(await reader.readPage(0n, { ...defaultPageLimits, rowsMax: 2 })).toHaveLength(2);
    const problem = { name: "StoreError", message: expect.stringMatching(/plant 3 .* not UTF-8/) };
    await expect(reader.readPage(0n, defaultPageLimits)).rejects.toMatchObject(problem);
  });

  test("the table stores no other plants, and one that would is refused", async () => {
    await expect(broken("UPDATE plants SET tag = x'41'")).rejects.toThrow(/cannot store BLOB/);
    await expect(broken("UPDATE plants SET name = NULL")).rejects.toThrow(/NOT NULL/);
    const opening = open(await broken("DROP TABLE plants; CREATE TABLE plants (id, name, tag)"));
    await expect(opening).rejects.toMatchObject({ code: "damaged" });
  });

  test("a row that SQLite cannot read is an error", async () => {
    const { url } = await freshFile();
    await seed(url, plantsOf(3000));
    await damageLeaf(url.slice("sqlite:".length), "its rows");
    await expect(pagesOf(await open(url))).rejects.toMatchObject({ name: "StoreError" });
  });
});

describe.skipIf(!hasPostgres)("PostgreSQL only", () => {
  async function seeded() {
    const database = await openDatabase(sharedServer.current);
    await seed(database.url, [plantOf(1)]);
    return database;
  }

  test("a database's timeouts for idle transactions do not end the reading", async () => {
    const { database, url, query, sessions } = await seeded();
    await query(`ALTER DATABASE ${database} SET idle_in_transaction_session_timeout = '20ms'`);
    const reader = await open(url);
    const rested = `state = 'idle in transaction'
      AND clock_timestamp() > state_change + interval '200ms'`;
    await until("a transaction that rests", async () => (await sessions(rested)).length > 0);
    expect(await pagesOf(reader)).toEqual([[plantOf(1)]]);
    await reader[Symbol.asyncDispose]();
    await until("the end of its session", async () => (await sessions()).length === 0);
  });

  test("a table that is rewritten meanwhile is not taken for an empty one", async () => {
    const { url, sessions } = await seeded();
    await using other = await openPostgresClient(url);
    await other.query("BEGIN; ALTER TABLE plants ADD rewritten float DEFAULT random()");
    const opening = open(url);
    const waiting = "wait_event_type = 'Lock' AND application_name = 'plant-store'";
    await until("a lock that is waited for", async () => (await sessions(waiting)).length > 0);
    await other.query("COMMIT");
    expect(await pagesOf(await opening)).toEqual([[plantOf(1)]]);
  });

  test("a role that can only read is enough", async () => {
    const { urlFor } = await seeded();
    expect(await pagesOf(await open(await urlFor("SELECT")))).toEqual([[plantOf(1)]]);
  });

  test("a role that may not see every row is refused", async () => {
    const { query, urlFor } = await seeded();
    await query(`ALTER TABLE plants ENABLE ROW LEVEL SECURITY;
      CREATE POLICY seen ON plants USING (id > 1)`);
    const opening = openPlantReader(await urlFor("SELECT"));
    await expect(opening).rejects.toMatchObject({ code: "inaccessible" });
  });

  test("a lost server is reported in one line, without the password", async () => {
    await using other = await startPostgres({ settings: withoutSync });
    const { url } = await openDatabase(other);
    await seed(url, [plantOf(1)]);
    await using reader = await openPlantReader(url);
    await other.stop("fast");
    const error = await reader.readPage(0n, defaultPageLimits).catch((reason: Error) => reason);
    expect(error).toMatchObject({ name: "StoreError", cause: expect.any(Error) });
    expect(String(error)).toMatch(/^[^\n]*could not be read \(57P01\)$/);
    expect(String(error)).not.toContain(password);
  });
});
