import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, open, rename, rm, truncate } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { PlantStore } from "../../src/plant.ts";
import { StoreError, StoreOpenError } from "../../src/store/open-error.ts";
import { openDatabase, openError } from "../../src/store/sqlite/database.ts";
import { readValue } from "../../src/store/sqlite/driver.ts";
import { failureCode, isPassing, primaryCode } from "../../src/store/sqlite/failure.ts";
import { valuesOf } from "../../src/store/sqlite/messages.ts";
import { openSqlite } from "../../src/store/sqlite/thread.ts";
import { createWriter } from "../../src/store/sqlite/writer.ts";
import { openStore } from "../support/open-store.ts";
import { plantOf, plantsOf } from "./plant-of.ts";
import { seed } from "./reader-places.ts";
import { expectAllKept, expectKept, untilObstacle } from "./suite.ts";
import { openBeside, temporaryPath, watchWorkers } from "./temporary.ts";

const workers = watchWorkers();
const moved = /deleted, moved, cut or replaced while the store was open$/;

/** A store, and what it reports to its owner. */
async function openFresh(busyTimeoutMs = 50, given?: string) {
  const path = given ?? (await temporaryPath());
  const failures: Error[] = [];
  const onFailure = (error: Error) => void failures.push(error);
  const queueChanged = vi.fn<(rows: number) => void>();
  const observer = { queueChanged, commitEnded() {} };
  const store = await openSqlite(path, { onFailure, observer }, busyTimeoutMs);
  onTestFinished(() => store.close());
  return { path, store, failures, queueChanged };
}

/** None of these plants is confirmed. */
async function expectUnavailable(creating: readonly Promise<unknown>[], cause?: string) {
  for (const result of await Promise.allSettled(creating)) {
    expect(result).toMatchObject({ reason: { code: "unavailable" } });
    if (cause !== undefined) expect(result).toMatchObject({ reason: { cause: { code: cause } } });
  }
}

async function expectFailedForGood(store: PlantStore, failures: readonly Error[]): Promise<void> {
  expect(store.obstacle()).toBe("failed");
  await expectUnavailable(plantsOf(2, 101).map((plant) => store.create(plant)));
  await expect.poll(() => failures).toHaveLength(1);
}

test.each([
  [true, "BUSY BUSY_SNAPSHOT FULL CANTOPEN NOMEM IOERR_SHMSIZE IOERR_TRUNCATE"],
  [true, "ERROR CONSTRAINT_CHECK MISMATCH TOOBIG"],
  [false, "IOERR_FSYNC IOERR_DIR_FSYNC IOERR_WRITE IOERR CORRUPT CORRUPT_INDEX"],
  [false, "NOTADB READONLY_DBMOVED MISUSE of_tomorrow"],
])("whether the store may continue: %s after %s", (goesOn, codes) => {
  for (const code of codes.split(" ")) expect(isPassing(`SQLITE_${code}`), code).toBe(goesOn);
});

/** As SQLite throws it. */
const sqliteError = (errcode: number) => Object.assign(new Error("no"), { errcode });
const systemError = (code: string) => Object.assign(new Error("no"), { code });

test.each([
  [sqliteError(5), "SQLITE_BUSY", "SQLITE_BUSY"],
  [sqliteError(517), "SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY"],
  [sqliteError(1034), "SQLITE_IOERR_FSYNC", "SQLITE_IOERR"],
  [sqliteError(13 + 256), "SQLITE_FULL_1", "SQLITE_FULL"],
  [sqliteError(10 + 99 * 256), "SQLITE_IOERR_99", "SQLITE_IOERR"],
  [sqliteError(255), "SQLITE_255", "SQLITE_255"],
  [systemError("ENOSPC"), "SQLITE_FULL", "SQLITE_FULL"],
  [systemError("EIO"), "Error", "Error"],
  [new TypeError("no"), "TypeError", "TypeError"],
  [new StoreOpenError("damaged", "no"), "StoreOpenError", "StoreOpenError"],
  [new StoreOpenError("damaged", "no", { cause: sqliteError(11) }), "SQLITE_CORRUPT", undefined],
])("%o has the code %s", (error, code, primary = code) => {
  expect(failureCode(error)).toBe(code);
  expect(primaryCode(code)).toBe(primary);
});

test.each([
  [sqliteError(5), "in_use", "locked"],
  [sqliteError(14), "inaccessible", "the space on the disk"],
  [sqliteError(11 + 256), "damaged", "restore it"],
  [sqliteError(10 + 19 * 256), "inaccessible", "no space left"],
  [sqliteError(10 + 6 * 256), "inaccessible", "no space left"],
  [systemError("ENOSPC"), "inaccessible", "no space left"],
  [sqliteError(10 + 4 * 256), "inaccessible", "disk reported an error, or a quota"],
  [sqliteError(10 + 21 * 256), "inaccessible", "use a local disk (SQLITE_IOERR_SHMMAP)"],
  [sqliteError(8 + 6 * 256), "inaccessible", "its folder is read-only"],
  [sqliteError(8 + 3 * 256), "damaged", "let a server roll it back"],
  [sqliteError(1), "damaged", "not as this release left it"],
])("%o when a store is opened: %s", (error, code, text) => {
  const opening = openError("/a/plants.db", error);
  expect(opening).toMatchObject({ code, cause: error });
  expect(opening.message).toContain("/a/plants.db");
  expect(opening.message).toContain(text);
  expect(opening.message).toContain(`(${failureCode(error)})`);
  expect(openError("/b", opening)).toBe(opening);
});

test("an error of the system is no damage of the store", () => {
  const error = Object.assign(systemError("EACCES"), { syscall: "open", path: "/a/migration" });
  const message = expect.stringMatching(/migration: permission/);
  expect(openError("/b", error)).toMatchObject({ code: "inaccessible", message });
});

describe("a temporary failure", () => {
  test("a lock that is not released in time: unavailable, then back to normal", async () => {
    const { path, store, failures } = await openFresh(400);
    const holder = openBeside(path);
    holder.exec("BEGIN IMMEDIATE");
    const before = performance.now();
    await expectUnavailable([store.create(plantOf(1))], "SQLITE_BUSY");
    expect(performance.now() - before).toBeGreaterThan(390);
    await untilObstacle(store, "locked");
    holder.exec("ROLLBACK");
    await untilObstacle(store);
    await store.create(plantOf(1));
    await expectKept(store, plantOf(1));
    await store.close();
    expect(failures).toEqual([]);
  });

  test("a probe that waits for a migration by another program does not undo it", async () => {
    const path = await temporaryPath();
    const [db, other] = [openDatabase(path, 50), openBeside(path)];
    onTestFinished(() => db.close());
    vi.spyOn(db, "exec").mockImplementationOnce((begin) => {
      other.exec("PRAGMA user_version = 7");
      db.exec(begin);
    });
    createWriter(db).probe(1);
    expect(readValue(other, "PRAGMA user_version")).toBe(7);
  });

  test("a full disk: nothing of the batch is stored, then back to normal", async () => {
    const db = openDatabase(await temporaryPath(), 50);
    onTestFinished(() => db.close());
    const writer = createWriter(db);
    const kept = () => readValue(db, "SELECT count(*) FROM plants");
    const batch = valuesOf(plantsOf(100).map((plant) => ({ ...plant, name: "x".repeat(1000) })));
    db.exec("PRAGMA max_page_count = 10");
    expect(() => writer.write(batch)).toThrow(expect.objectContaining({ errcode: 13 }));
    expect(kept()).toBe(0);
    db.exec("PRAGMA max_page_count = 1000");
    expect(writer.write(batch)).toEqual([]);
    expect(kept()).toBe(100);
  });
});

const whenBad = "CREATE TRIGGER t AFTER INSERT ON plants WHEN NEW.id = 5 BEGIN";
const onAll = "CREATE TABLE audit (id UNIQUE); CREATE TRIGGER a AFTER INSERT ON plants BEGIN";

test.each([
  ["CONSTRAINT_UNIQUE", "CREATE UNIQUE INDEX u ON plants (name)"],
  [
    "CONSTRAINT_UNIQUE",
    `ALTER TABLE plants RENAME TO x;
     CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE, tag TEXT);
     INSERT INTO plants SELECT * FROM x`,
  ],
  ["CONSTRAINT_TRIGGER", `${whenBad} SELECT raise(ABORT, 'no'); END`],
  ["CONSTRAINT_TRIGGER", `${whenBad} SELECT raise(ROLLBACK, 'no'); END`],
  ["ERROR", "CREATE INDEX j ON plants (CASE id WHEN 5 THEN json_extract(name, '$.a') END)"],
  // Nothing fails.
  ["CONSTRAINT_TRIGGER", `${whenBad.replace("AFTER", "BEFORE")} SELECT raise(IGNORE); END`],
  ["CONSTRAINT_TRIGGER", `${whenBad} UPDATE plants SET name = 'other' WHERE id = 5; END`],
  ["CONSTRAINT_TRIGGER", `${whenBad} DELETE FROM plants WHERE id = 5; END`],
  [
    "CONSTRAINT_TRIGGER",
    `${whenBad} UPDATE plants SET tag = '' WHERE id = 5; END;
     ${onAll} INSERT OR IGNORE INTO audit VALUES (NEW.id / 9); END`,
  ],
  // COMMIT itself fails.
  [
    "CONSTRAINT_FOREIGNKEY",
    `CREATE TABLE parents (id INTEGER PRIMARY KEY);
     CREATE TABLE children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
     ${whenBad} INSERT INTO children VALUES (1); END`,
  ],
])("a plant that the database would change (%s: %s) is rejected alone", async (kind, sql) => {
  const { path, store, failures } = await openFresh();
  openBeside(path).exec(`INSERT INTO plants (id, name) VALUES (100, 'taken'); ${sql}`);
  const others = [...plantsOf(5), ...plantsOf(5, 6)];
  const creating = [{ id: 5n, name: "taken" }, ...others].map((plant) => store.create(plant));
  await expectUnavailable(creating.slice(0, 1), `SQLITE_${kind}`);
  await Promise.all(creating.slice(1));
  await expectAllKept(store, others);
  expect(readValue(openBeside(path), "SELECT count(*) FROM plants")).toBe(11);
  expect([store.obstacle(), failures]).toEqual([undefined, []]);
});

test.each([
  ["ALTER TABLE plants RENAME TO x", "ALTER TABLE x RENAME TO plants"],
  [
    "ALTER TABLE plants RENAME TO x; CREATE TABLE plants AS SELECT * FROM x",
    "DROP TABLE plants; ALTER TABLE x RENAME TO plants",
  ],
  [
    "ALTER TABLE plants RENAME TO x; CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, tag NUMERIC)",
    "DROP TABLE plants; ALTER TABLE x RENAME TO plants",
  ],
  [`${whenBad} INSERT INTO audit VALUES (1); END`, "DROP TRIGGER t"],
])("plants are not stored until the table is as it was: %s", async (harm, mend) => {
  const { path, store, failures } = await openFresh();
  const db = openBeside(path);
  db.exec(harm);
  await expectUnavailable([store.create(plantOf(1))], "SQLITE_ERROR");
  await untilObstacle(store, "damaged");
  await expectUnavailable([store.create(plantOf(2))], "SQLITE_ERROR");
  db.exec(mend);
  await untilObstacle(store);
  await store.create(plantOf(1));
  await expectKept(store, plantOf(1));
  expect(failures).toEqual([]);
});

describe("a permanent failure", () => {
  test("a damaged page", async () => {
    const path = await temporaryPath();
    const before = await openStore(`sqlite:${path}`);
    await Promise.all(plantsOf(5000).map((plant) => before.create(plant)));
    await before.close();
    const file = await open(path, "r+");
    const { size } = await file.stat();
    // All pages except those read at startup: the header and the root of the table.
    await file.write(Buffer.alloc(size - 3 * 4096, 0xff), 0, size - 3 * 4096, 3 * 4096);
    await file.close();
    const { store, failures } = await openFresh(50, path);
    await expect(store.create(plantOf(9999))).rejects.toMatchObject({
      code: "unavailable",
      cause: { code: expect.stringMatching(/^SQLITE_CORRUPT/) },
    });
    await expectFailedForGood(store, failures);
  });

  test.each([
    ["after a commit", 20],
    ["as the store is closed", 0],
  ])("a checkpoint that fails %s is reported", async (_, count) => {
    const path = await temporaryPath();
    const name = "x".repeat(300);
    const plants = plantsOf(3000).map((plant) => ({ ...plant, name }));
    await seed(`sqlite:${path}`, plants);
    const { store, failures } = await openFresh(50, path);
    await store.create(plantOf(3000));
    // All pages except the first: SQLite sees that the database lacks more than the log has.
    await truncate(path, 4 * 4096);
    const large = plantsOf(count, 3001).map((plant) => ({ ...plant, name: "x".repeat(1_000_000) }));
    await Promise.allSettled(large.map((plant) => store.create(plant)));
    if (count > 0) await expectFailedForGood(store, failures);
    expect(failures).toHaveLength(count > 0 ? 1 : 0);
    await store.close();
    expect(failures).toMatchObject([{ code: "SQLITE_CORRUPT" }]);
  });

  const replace = async (path: string) => {
    await copyFile(path, `${path}.bak`);
    await rename(`${path}.bak`, path);
  };

  test("a replaced database file is detected even without new plants", async () => {
    const { path, store, failures } = await openFresh();
    await replace(path);
    await untilObstacle(store, "failed");
    await expectFailedForGood(store, failures);
    expect(failures[0]).toBeInstanceOf(StoreError); // a command prints one line
    expect(failures[0]?.message).toMatch(moved);
  });

  test.each<[string, (path: string) => Promise<void>]>([
    ["the database is deleted", (path) => rm(path)],
    ["the log is deleted", (path) => rm(`${path}-wal`)],
    ["the index of the log is deleted", (path) => rm(`${path}-shm`)],
    ["the log is emptied", (path) => truncate(`${path}-wal`)],
    ["the database is moved away", (path) => rename(path, `${path}.bak`)],
    ["a copy takes the database's place", replace],
  ])("%s: later writes are not confirmed", async (_, interfere) => {
    // Commits look by themselves, without the inspections of an idle store.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { path, store, failures } = await openFresh();
    await store.create(plantOf(1));
    await interfere(path);
    // Every 10 ms.
    let outcome: PromiseSettledResult<unknown> | undefined;
    for (let id = 2; outcome?.status !== "rejected"; id++) {
      [outcome] = await Promise.allSettled([store.create(plantOf(id))]);
    }
    vi.useRealTimers();
    expect(outcome).toMatchObject({ reason: { code: "unavailable" } });
    await expectFailedForGood(store, failures);
    expect(failures[0]?.message).toMatch(moved);
  });

  test.each(["-shm", "-wal"])(
    "without its %s, closing keeps what all have written",
    async (one) => {
      const { path, store, failures } = await openFresh(50, `${await temporaryPath()}-wal`);
      for (const plant of plantsOf(100)) await store.create(plant);
      const open = `const db = new (require("node:sqlite").DatabaseSync)(process.argv[1]);`;
      const run = (code: string) => spawnSync(process.execPath, ["-e", open + code, path]).status;
      expect(run(`db.exec("PRAGMA journal_mode = DELETE")`), "its lock").toBe(1);
      await rm(`${path}${one}`);
      const write = `for (let id = 100; id < 400; id++)
      db.exec("INSERT INTO plants (id, name) VALUES (" + id + ", hex(zeroblob(2000)))");`;
      if (one === "-shm") expect(run(write)).toBe(0);
      await store.close();
      expect(failures).toMatchObject([{ message: expect.stringMatching(moved) }]);
      expect(readValue(openBeside(path), "PRAGMA integrity_check")).toBe("ok");
      expect(readValue(openBeside(path), "SELECT count(*) FROM plants")).toBe(
        one === "-shm" ? 400 : 100,
      );
    },
  );

  test("a commit that was sent ahead of a failed one is neither confirmed nor written", async () => {
    const { path, store, failures, queueChanged } = await openFresh(5000);
    const holder = openBeside(path);
    holder.exec("BEGIN IMMEDIATE");
    const first = store.create(plantOf(1));
    for (let turn = 0; turn < 2; turn++) await nextTurn();
    // Enough for a commit of their own, which waits behind the first.
    const all = [first, ...plantsOf(40, 2).map((plant) => store.create(plant))];
    expect(queueChanged.mock.lastCall?.[0]).toBeLessThan(40);
    await rename(path, `${path}.bak`);
    holder.exec("COMMIT");
    await expectUnavailable(all);
    await expectFailedForGood(store, failures);
    await store.close();
    expect(readValue(holder, "SELECT count(*) FROM plants WHERE id > 1")).toBe(0);
  });

  test("the thread ends while idle: the store can be closed, and no plant is lost", async () => {
    const { path, store, failures } = await openFresh();
    await Promise.all(plantsOf(100).map((plant) => store.create(plant)));
    await workers.last().terminate();
    await expectFailedForGood(store, failures);
    await store.close();
    await expectAllKept((await openFresh(50, path)).store, plantsOf(100));
  });

  test("the thread ends by an error: the store says so once", async () => {
    const { store, failures } = await openFresh();
    workers.last().postMessage(null);
    await expectUnavailable([store.create(plantOf(1))]);
    await expectFailedForGood(store, failures);
    await store.close();
    expect(failures).toMatchObject([{ name: "TypeError" }]);
  });

  test("the thread ends before it has opened the store, which can then be opened", async () => {
    const path = await temporaryPath();
    process.once("worker", (worker) => void worker.terminate());
    await expect(openSqlite(path, {})).rejects.toMatchObject({ code: "unsupported" });
    await openFresh(50, path);
  });

  test("the thread ends during a commit: its plants are unavailable", async () => {
    const { path, store, failures } = await openFresh(1000);
    openBeside(path).exec("BEGIN IMMEDIATE");
    const worker = workers.last();
    const creating = [store.create(plantOf(1)), store.create(plantOf(2))];
    // The commit is running: the thread waits for the lock inside SQLite and cannot answer.
    await nextTurn();
    const ended = once(worker, "exit");
    void worker.terminate();
    await expectUnavailable(creating);
    await ended;
    await expectFailedForGood(store, failures);
  });
});
