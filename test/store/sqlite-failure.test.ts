import { once } from "node:events";
import { copyFile, open, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { within } from "../../packages/gateway/test/support/within.ts";
import type { NewPlant, PlantStore } from "../../src/plant.ts";
import { openStore } from "../../src/store/open.ts";
import { StoreOpenError } from "../../src/store/open-error.ts";
import { openDatabase, openError } from "../../src/store/sqlite/database.ts";
import { readValue } from "../../src/store/sqlite/driver.ts";
import { failureCode, isFull, isPassing, primaryCode } from "../../src/store/sqlite/failure.ts";
import { valuesOf } from "../../src/store/sqlite/messages.ts";
import { openSqlite } from "../../src/store/sqlite/open.ts";
import { Writer } from "../../src/store/sqlite/writer.ts";
import { plantOf } from "./plant-of.ts";
import { expectAllKept, expectKept } from "./suite.ts";
import { temporaryFolder, WorkerWatch } from "./temporary.ts";
import { untilObstacle } from "./until-obstacle.ts";

const workers = new WorkerWatch();
afterAll(() => workers.end());

/** A store on a new database, and what it reports to its owner. */
async function openFresh(busyTimeoutMs = 50) {
  const path = join(await temporaryFolder(), "plants.db");
  const failures: Error[] = [];
  const onFailure = (error: Error) => void failures.push(error);
  const store = await openSqlite(path, { onFailure }, busyTimeoutMs);
  onTestFinished(() => store.close());
  return { path, store, failures };
}

async function expectFailedForGood(store: PlantStore, failures: readonly Error[]): Promise<void> {
  expect(store.obstacle()).toBe("failed");
  for (const id of [101n, 102n]) {
    await expect(store.create(plantOf(id))).rejects.toMatchObject({ code: "unavailable" });
  }
  const told = async () => {
    while (failures.length === 0) await nextTurn();
  };
  await within("its owner to hear of it", told());
  expect(failures).toHaveLength(1);
}

test.each<[boolean, readonly string[]]>([
  [true, ["SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_FULL", "SQLITE_NOMEM"]],
  [true, ["SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_TRUNCATE"]],
  [false, ["SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC", "SQLITE_IOERR_WRITE", "SQLITE_IOERR"]],
  [false, ["SQLITE_CORRUPT", "SQLITE_CORRUPT_INDEX", "SQLITE_NOTADB", "SQLITE_READONLY_DBMOVED"]],
  [false, ["SQLITE_ERROR", "SQLITE_MISUSE", "TypeError", "a code of tomorrow"]],
])("whether the store may continue: %s after %j", (goesOn, codes) => {
  for (const code of codes) expect(isPassing(code), code).toBe(goesOn);
});

/** As SQLite throws it. */
const sqliteError = (errcode: number) => Object.assign(new Error("no"), { errcode });
const systemError = (code: string) => Object.assign(new Error("no"), { code });

test.each([
  [sqliteError(5), "SQLITE_BUSY", "SQLITE_BUSY"],
  [sqliteError(517), "SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY"],
  [sqliteError(1034), "SQLITE_IOERR_FSYNC", "SQLITE_IOERR"],
  [sqliteError(13), "SQLITE_FULL", "SQLITE_FULL"],
  [sqliteError(26), "SQLITE_NOTADB", "SQLITE_NOTADB"],
  [sqliteError(13 + 256), "SQLITE_FULL_1", "SQLITE_FULL"],
  [sqliteError(10 + 99 * 256), "SQLITE_IOERR_99", "SQLITE_IOERR"],
  [sqliteError(255), "SQLITE_255", "SQLITE_255"],
  [systemError("ENOSPC"), "SQLITE_FULL", "SQLITE_FULL"],
  [systemError("EDQUOT"), "SQLITE_FULL", "SQLITE_FULL"],
  [systemError("EIO"), "Error", "Error"],
  [new TypeError("no"), "TypeError", "TypeError"],
  ["no", "string", "string"],
  [new StoreOpenError("damaged", "no"), "StoreOpenError", "StoreOpenError"],
  [new StoreOpenError("damaged", "no", { cause: sqliteError(11) }), "SQLITE_CORRUPT", undefined],
])("%o has the code %s", (error, code, primary = code) => {
  expect(failureCode(error)).toBe(code);
  expect(primaryCode(code)).toBe(primary);
});

test.each([
  [sqliteError(5), "in_use", "locked"],
  [sqliteError(14), "inaccessible", "cannot open it"],
  [sqliteError(11 + 256), "damaged", "restore it"],
  [sqliteError(13), "inaccessible", "no space left"],
  // The disk is full.
  [sqliteError(10 + 19 * 256), "inaccessible", "no space left"],
  [systemError("ENOSPC"), "inaccessible", "no space left"],
  [sqliteError(10 + 4 * 256), "inaccessible", "disk reported an error"],
  [sqliteError(26), "foreign", "not an SQLite database"],
  [sqliteError(8), "inaccessible", "read-only"],
  [sqliteError(1), "damaged", "not as this release left it"],
])("%o when a store is opened: %s", (error, code, text) => {
  const opening = openError("/a/plants.db", error);
  expect(opening).toMatchObject({ code, cause: error });
  expect(opening.message).toContain("/a/plants.db");
  expect(opening.message).toContain(text);
  expect(opening.message).toContain(`(${failureCode(error)})`);
  expect(openError("/b", opening)).toBe(opening);
});

test("a disk is full by more than one code", () => {
  const codes = ["SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR"];
  expect(codes.map(isFull)).toEqual([true, true, true, false]);
});

describe("a temporary failure", () => {
  test("a lock that is not released in time: unavailable, then back to normal", async () => {
    const { path, store, failures } = await openFresh();
    const holder = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(() => void holder.close());
    holder.exec("BEGIN IMMEDIATE");
    const results = await Promise.allSettled([
      store.create(plantOf(1n)),
      store.create(plantOf(2n)),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({
        reason: { code: "unavailable", cause: { code: "SQLITE_BUSY" } },
      });
    }
    await untilObstacle(store, "locked");
    holder.exec("ROLLBACK");
    await untilObstacle(store, undefined);
    await store.create(plantOf(1n));
    await expectKept(store, plantOf(1n));
    expect(failures).toEqual([]);
  });

  test("a replaced database file is detected even without new plants", async () => {
    const { path, store, failures } = await openFresh();
    await rename(path, `${path}.old`);
    await copyFile(`${path}.old`, path);
    await untilObstacle(store, "failed");
    await expectFailedForGood(store, failures);
    expect(failures[0]?.message).toContain("was deleted, moved or replaced");
  });

  test("the log stays short, however long the texts are", async () => {
    const path = join(await temporaryFolder(), "plants.db");
    const db = openDatabase(path, 50);
    onTestFinished(() => void db.close());
    const writer = new Writer(db);
    let longest = 0;
    for (let id = 1n; id <= 40n; id++) {
      writer.write(valuesOf([{ id, name: "x".repeat(1_000_000), tag: undefined }]));
      writer.checkpointWhenDue();
      longest = Math.max(longest, (await stat(`${path}-wal`)).size);
    }
    expect(longest).toBeLessThan(20_000_000);
  });

  test("a full disk: nothing of the batch is stored, then back to normal", async () => {
    const db = openDatabase(join(await temporaryFolder(), "plants.db"), 50);
    onTestFinished(() => void db.close());
    const writer = new Writer(db);
    const kept = () => readValue(db, "SELECT count(*) FROM plants");
    const batch = valuesOf(
      Array.from({ length: 100 }, (_, index) => ({
        ...{ id: BigInt(index), name: "x".repeat(1000), tag: undefined },
      })),
    );
    db.exec("PRAGMA max_page_count = 10");
    let code = "none";
    try {
      writer.write(batch);
    } catch (error) {
      code = failureCode(error);
    }
    expect(code).toBe("SQLITE_FULL");
    expect(kept()).toBe(0);
    db.exec("PRAGMA max_page_count = 1000");
    expect(writer.write(batch)).toEqual([]);
    expect(kept()).toBe(100);
  });
});

describe("a permanent failure", () => {
  test("COMMIT itself: none of its plants is confirmed", async () => {
    const { path, store, failures } = await openFresh();
    const db = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(() => void db.close());
    // Every insert succeeds, then the transaction violates a deferred constraint.
    db.exec(`
      CREATE TABLE parents (id INTEGER PRIMARY KEY);
      CREATE TABLE children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER orphan AFTER INSERT ON plants BEGIN INSERT INTO children VALUES (1); END;
    `);
    const results = await Promise.allSettled([
      store.create(plantOf(1n)),
      store.create(plantOf(2n)),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({
        reason: { code: "unavailable", cause: { code: "SQLITE_CONSTRAINT_FOREIGNKEY" } },
      });
    }
    expect(readValue(db, "SELECT count(*) FROM plants")).toBe(0);
    await expectFailedForGood(store, failures);
  });

  test("a damaged page", async () => {
    const path = join(await temporaryFolder(), "plants.db");
    const before = await openStore(`sqlite:${path}`);
    await Promise.all(Array.from({ length: 5000 }, (_, id) => before.create(plantOf(BigInt(id)))));
    await before.close();
    const file = await open(path, "r+");
    const { size } = await file.stat();
    // All pages except those read at startup: the header and the root of the table.
    await file.write(Buffer.alloc(size - 3 * 4096, 0xff), 0, size - 3 * 4096, 3 * 4096);
    await file.close();

    const failures: Error[] = [];
    const store = await openStore(`sqlite:${path}`, { onFailure: (error) => failures.push(error) });
    onTestFinished(() => store.close());
    await expect(store.create(plantOf(9999n))).rejects.toMatchObject({
      code: "unavailable",
      cause: { code: expect.stringMatching(/^SQLITE_CORRUPT/) },
    });
    await expectFailedForGood(store, failures);
  });

  test.each<[string, (path: string) => Promise<void>]>([
    ["the database is deleted", (path) => rm(path)],
    ["the log is deleted", (path) => rm(`${path}-wal`)],
    ["the database is moved away", (path) => rename(path, `${path}.bak`)],
    [
      "a copy takes the database's place",
      async (path) => {
        await copyFile(path, `${path}.bak`);
        await rename(`${path}.bak`, path);
      },
    ],
  ])("%s: later writes are not confirmed", async (_, interfere) => {
    // Commits look by themselves, without the inspections of an idle store.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { path, store, failures } = await openFresh();
    await store.create(plantOf(1n));
    await interfere(path);
    // Every 10 ms.
    let outcome: unknown;
    for (let id = 2n; outcome === undefined; id++) {
      outcome = await store.create(plantOf(id)).then(
        () => undefined,
        (error) => error,
      );
    }
    expect(outcome).toMatchObject({ code: "unavailable" });
    await expectFailedForGood(store, failures);
    expect(failures[0]?.message).toMatch(/deleted, moved or replaced/);
  });

  test("a commit that was sent ahead of a failed one is neither confirmed nor written", async () => {
    const { path, store, failures } = await openFresh(5000);
    const holder = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(() => void holder.close());
    holder.exec("BEGIN IMMEDIATE");
    const first = store.create(plantOf(1n));
    await nextTurn();
    await nextTurn();
    // Enough for a commit of their own, which waits behind the first.
    const ahead = Array.from({ length: 40 }, (_, id) => store.create(plantOf(BigInt(id + 2))));
    const results = Promise.allSettled([first, ...ahead]);
    holder.exec(
      "CREATE TRIGGER broken AFTER INSERT ON plants WHEN NEW.id = 1 BEGIN SELECT raise(ABORT, 'x'); END",
    );
    holder.exec("COMMIT");
    for (const result of await results) {
      expect(result).toMatchObject({ reason: { code: "unavailable" } });
    }
    await expectFailedForGood(store, failures);
    holder.exec("DROP TRIGGER broken");
    await store.close();
    expect(readValue(holder, "SELECT count(*) FROM plants")).toBe(0);
  });

  test("the thread ends while idle", async () => {
    const { store, failures } = await openFresh();
    await workers.last.terminate();
    await expectFailedForGood(store, failures);
  });

  test("the thread ends during a commit: its plants are unavailable", async () => {
    const { path, store, failures } = await openFresh(1000);
    const holder = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(() => void holder.close());
    holder.exec("BEGIN IMMEDIATE");
    const worker = workers.last;
    const creating = Promise.allSettled([store.create(plantOf(1n)), store.create(plantOf(2n))]);
    // The commit is running: the thread waits for the lock inside SQLite and cannot answer.
    await new Promise(setImmediate);
    const ended = once(worker, "exit");
    void worker.terminate();
    for (const result of await creating) {
      expect(result).toMatchObject({ reason: { code: "unavailable" } });
    }
    await ended;
    await expectFailedForGood(store, failures);
  });

  test("does not prevent closing, and loses no plant", async () => {
    const path = join(await temporaryFolder(), "plants.db");
    const store = await openStore(`sqlite:${path}`);
    const plants: NewPlant[] = Array.from({ length: 100 }, (_, id) => plantOf(BigInt(id)));
    await Promise.all(plants.map((plant) => store.create(plant)));
    await workers.last.terminate();
    await store.close();
    const reopened = await openStore(`sqlite:${path}`);
    onTestFinished(() => reopened.close());
    await expectAllKept(reopened, plants);
  });
});
