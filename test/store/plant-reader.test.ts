/** The promises of the PlantReader port, on every engine. */
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { within } from "../../packages/gateway/test/support/within.ts";
import type { NewPlant } from "../../src/plant.ts";
import { openPlantReader, openStore } from "../../src/store/open.ts";
import {
  defaultPageLimits,
  type PageLimits,
  type PlantReader,
  readPages,
} from "../../src/store/plant-reader.ts";
import { password } from "../support/postgres-databases.ts";
import { hasPostgres, startPostgres } from "../support/postgres-server.ts";
import { sharedServer } from "../support/shared-postgres.ts";
import { plantOf } from "./plant-of.ts";
import { withoutSync } from "./postgres/fresh.ts";
import { exactPlants, type PlaceKind, placeKinds, seed } from "./reader-places.ts";

const kinds = placeKinds(sharedServer);

async function open(url: string): Promise<PlantReader> {
  const reader = await openPlantReader(url);
  onTestFinished(() => reader.close());
  return reader;
}

async function pagesOf(
  reader: PlantReader,
  limits: Partial<PageLimits> = {},
): Promise<(readonly NewPlant[])[]> {
  const pages: (readonly NewPlant[])[] = [];
  const whole = { ...defaultPageLimits, ...limits };
  for await (const page of readPages(reader, { limits: whole })) pages.push(page);
  return pages;
}

describe.each(kinds)("$name", ({ name, isMissing, fresh }: PlaceKind) => {
  const testHere = test.skipIf(isMissing);

  testHere("every plant comes back exactly, in the order of the ids", async () => {
    const { url } = await fresh();
    await seed(url, exactPlants.toReversed());
    const reader = await open(url);
    expect(reader.count).toBe(exactPlants.length);
    expect((await pagesOf(reader)).flat()).toStrictEqual(exactPlants);
    // One at a time: the next page starts right after the last.
    expect((await pagesOf(reader, { rowsMax: 1 })).flat()).toStrictEqual(exactPlants);
  });

  testHere("a page has no more rows than asked for", async () => {
    const { url } = await fresh();
    const plants = Array.from({ length: 2500 }, (_, id) => plantOf(3n * BigInt(id)));
    await seed(url, plants);
    const pages = await pagesOf(await open(url));
    expect(pages.map((page) => page.length)).toEqual([1000, 1000, 500]);
    expect(pages.flat()).toStrictEqual(plants);
  });

  testHere("a page has no more bytes than asked for, but for a plant that is larger", async () => {
    const { url } = await fresh();
    // 30 bytes each in UTF-8, name and tag together; the last has 300.
    const small = (id: number) => ({
      id: BigInt(id),
      name: "\u00e9".repeat(10),
      tag: "x".repeat(10),
    });
    await seed(url, [
      ...[1, 2, 3, 4, 5].map(small),
      { ...small(6), name: "x".repeat(290) },
      small(7),
    ]);
    const pages = await pagesOf(await open(url), { bytesMax: 60 });
    expect(pages.map((page) => page.map(({ id }) => Number(id)))).toEqual([
      [1, 2],
      [3, 4],
      [5],
      [6],
      [7],
    ]);
  });

  testHere("reading begins at an id, whether it is there or not", async () => {
    const { url } = await fresh();
    await seed(url, [1n, 5n, 9n].map(plantOf));
    const reader = await open(url);
    const idsFrom = async (from: bigint) =>
      (await reader.readPage(from, defaultPageLimits)).map(({ id }) => id);
    expect(await idsFrom(5n)).toEqual([5n, 9n]);
    expect(await idsFrom(6n)).toEqual([9n]);
    expect(await idsFrom(10n)).toEqual([]);
  });

  testHere("a plant that is created after the opening is not read", async () => {
    const { url } = await fresh();
    const store = await openStore(url);
    onTestFinished(() => store.close());
    await store.create(plantOf(1n));
    const reader = await open(url);
    await store.create(plantOf(2n));
    expect(reader.count).toBe(1);
    expect(await pagesOf(reader)).toEqual([[plantOf(1n)]]);
    expect((await open(url)).count).toBe(2);
  });

  testHere("an empty store is read as empty", async () => {
    const { url } = await fresh();
    await seed(url, []);
    const reader = await open(url);
    expect(reader.count).toBe(0);
    expect(await pagesOf(reader)).toEqual([]);
  });

  testHere("a store that is not there is refused, and not made", async () => {
    const place = await fresh();
    await expect(openPlantReader(place.url)).rejects.toMatchObject({
      name: "StoreOpenError",
      message: expect.stringMatching(/check the store URL/),
    });
    await expect(place.execute("SELECT 1 FROM plants")).rejects.toThrow();
    if (name === "SQLite") {
      const path = (await fresh()).url.slice("sqlite:".length);
      await expect(openPlantReader(`sqlite:${path}`)).rejects.toMatchObject({
        code: "inaccessible",
      });
      expect(await readdir(dirname(path))).toEqual([]);
    }
  });
});

describe("SQLite only", () => {
  const [sqlite] = kinds;

  async function broken(sql: string): Promise<string> {
    const place = await sqlite?.fresh();
    if (place === undefined) throw new Error("no SQLite");
    await seed(place.url, [plantOf(1n), { id: 2n, name: "\ufffd", tag: "\ufffd" }, plantOf(3n)]);
    await place.execute(sql);
    return place.url;
  }

  test.each([
    ["a newer release", "PRAGMA user_version = 99", "newer_schema"],
    ["another program", "PRAGMA application_id = 1", "foreign"],
  ])("the database of %s is rejected", async (_, sql, code) => {
    await expect(openPlantReader(await broken(sql))).rejects.toMatchObject({ code });
  });

  test.each([
    ["name", "x'c328'"],
    // As many bytes as the U+FFFD that a driver replaces it with.
    ["name", "x'f09f8c'"],
    ["tag", "x'eda080'"],
  ])("a %s that is not UTF-8 (%s) is an error that names the plant", async (column, bytes) => {
    const url = await broken(`UPDATE plants SET ${column} = CAST(${bytes} AS TEXT) WHERE id = 3`);
    const reader = await open(url);
    expect(await reader.readPage(0n, { ...defaultPageLimits, rowsMax: 2 })).toHaveLength(2);
    await expect(reader.readPage(0n, defaultPageLimits)).rejects.toMatchObject({
      name: "StoreReadError",
      message: expect.stringMatching(/plant 3 .* not UTF-8/),
    });
  });
});

describe.skipIf(!hasPostgres)("PostgreSQL only", () => {
  test("a database's timeouts for idle transactions do not end the reading", async () => {
    const database = await sharedServer.current.createDatabase();
    const url = sharedServer.current.url(database);
    await seed(url, [plantOf(1n)]);
    await sharedServer.current.query(
      `ALTER DATABASE ${database} SET idle_in_transaction_session_timeout = '20ms'`,
    );
    const reader = await open(url);
    const hasRested = `
      SELECT 1 FROM pg_stat_activity WHERE datname = '${database}'
      AND state = 'idle in transaction' AND clock_timestamp() > state_change + interval '200ms'`;
    const untilRested = async () => {
      while ((await sharedServer.current.query(hasRested)).length === 0);
    };
    await within("a transaction that rests", untilRested());
    expect(await pagesOf(reader)).toEqual([[plantOf(1n)]]);
  });

  test("a role that can only read is enough", async () => {
    const database = await sharedServer.current.createDatabase();
    await seed(sharedServer.current.url(database), [plantOf(1n)]);
    const role = await sharedServer.current.createRole();
    await sharedServer.current.query(
      `GRANT SELECT ON plants, plant_store_migrations TO ${role}`,
      database,
    );
    const reader = await open(sharedServer.current.url(database, role));
    expect(await pagesOf(reader)).toEqual([[plantOf(1n)]]);
  });

  test("a lost server is reported in one line, without the password", async () => {
    await using other = await startPostgres({ settings: withoutSync });
    const url = other.url(await other.createDatabase());
    await seed(url, [plantOf(1n)]);
    const reader = await openPlantReader(url);
    await other.stop("immediate");
    const error = await reader.readPage(0n, defaultPageLimits).catch((reason: Error) => reason);
    expect(error).toMatchObject({ name: "StoreReadError" });
    expect(String(error)).toMatch(/^[^\n]*could not be read[^\n]*$/);
    expect(String(error)).not.toContain(password);
    await reader.close();
  });
});
