import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { NewPlant } from "../../src/plant.ts";
import { openStore } from "../../src/store/open.ts";
import type { EndedCommit } from "../../src/store/options.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { readValue } from "../../src/store/sqlite/driver.ts";
import { openSqlite } from "../../src/store/sqlite/open.ts";
import { readRows } from "../support/sqlite-rows.ts";
import { plantOf } from "./plant-of.ts";
import { storeSuite } from "./suite.ts";
import { temporaryFolder, WorkerWatch } from "./temporary.ts";

const workers = new WorkerWatch();
afterAll(() => workers.end());

async function temporaryPath(): Promise<string> {
  return join(await temporaryFolder(), "data", "plants.db");
}

storeSuite("sqlite", async () => {
  const path = await temporaryPath();
  return () => openStore(`sqlite:${path}`);
});

test("every setting that durability depends on is in effect", async () => {
  const db = openDatabase(await temporaryPath(), 100);
  onTestFinished(() => void db.close());
  const inForce = (pragma: string) => readValue(db, `PRAGMA ${pragma}`);
  expect(inForce("journal_mode")).toBe("wal");
  expect(inForce("synchronous")).toBe(2);
  expect(inForce("fullfsync")).toBe(1);
  expect(inForce("checkpoint_fullfsync")).toBe(1);
  expect(inForce("busy_timeout")).toBe(100);
});

test("the file is plain SQLite and can be read by others while the store is open", async () => {
  const path = await temporaryPath();
  const store = await openStore(`sqlite:${path}`);
  onTestFinished(() => store.close());
  const plants: NewPlant[] = [
    { id: -(2n ** 63n), name: "", tag: "" },
    { id: 9007199254740993n, name: "\ufeffe\u0301", tag: undefined },
    { id: 2n ** 63n - 1n, name: "\u{1f331}", tag: "O'Hara" },
  ];
  for (const plant of plants) await store.create(plant);

  const reader = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  onTestFinished(() => void reader.close());
  const rows = readRows(reader, "SELECT id, name, tag FROM plants ORDER BY id");
  expect(rows).toEqual(plants.map((plant) => ({ ...plant, tag: plant.tag ?? null })));
  const bytes = readValue(reader, "SELECT hex(name) FROM plants WHERE tag IS NULL");
  expect(bytes).toBe("EFBBBF65CC81");
  expect(readValue(reader, "PRAGMA integrity_check")).toBe("ok");
  expect(readValue(reader, "PRAGMA journal_mode")).toBe("wal");
  expect(readValue(reader, "PRAGMA application_id")).toBe(0x504c4e54);
  expect(readValue(reader, "PRAGMA user_version")).toBe(1);
});

test.skipIf(process.platform === "win32")(
  "files and directories are accessible only to their owner",
  async () => {
    const path = join(await temporaryFolder(), "some", "data", "plants.db");
    const store = await openStore(`sqlite:${path}`);
    onTestFinished(() => store.close());
    await store.create(plantOf(1n));
    const mode = async (at: string) => (await stat(join(path, at))).mode & 0o777;
    expect(await mode("../..")).toBe(0o700);
    expect(await mode("..")).toBe(0o700);
    const files = await readdir(join(path, ".."));
    expect(files.sort()).toEqual(["plants.db", "plants.db-shm", "plants.db-wal"]);
    for (const file of files) expect(await mode(join("..", file))).toBe(0o600);
  },
);

test("closing leaves one file that contains everything", async () => {
  const path = await temporaryPath();
  const store = await openStore(`sqlite:${path}`);
  await store.create(plantOf(1n));
  await store.close();
  expect(await readdir(join(path, ".."))).toEqual(["plants.db"]);
});

test("the log is copied to the database while the store is open", async () => {
  const path = await temporaryPath();
  const store = await openStore(`sqlite:${path}`);
  onTestFinished(() => store.close());
  const name = "x".repeat(100_000);
  for (let round = 0n; round < 4n; round++) {
    const ids = Array.from({ length: 200 }, (_, index) => round * 1000n + BigInt(index));
    await Promise.all(ids.map((id) => store.create({ id, name, tag: undefined })));
  }
  // 80 MB were written. 16 MB at a time may stay in the log.
  expect((await stat(path)).size).toBeGreaterThan(40_000_000);
  expect((await stat(`${path}-wal`)).size).toBeLessThan(40_000_000);
});

describe("while another process holds the database's lock, as on a stalled disk", () => {
  async function stalled() {
    const path = await temporaryPath();
    const commits: number[] = [];
    let waiting = 0;
    const observer = {
      queueChanged(rows: number) {
        waiting = rows;
      },
      commitEnded: ({ rows }: EndedCommit) => void commits.push(rows),
    };
    const store = await openSqlite(path, { observer }, 60_000);
    const holder = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(async () => {
      holder.close();
      await store.close();
    });
    holder.exec("BEGIN IMMEDIATE");
    return { store, commits, waiting: () => waiting, release: () => holder.exec("COMMIT") };
  }

  test("the event loop runs, deadlines work, and waiting plants share a commit", async () => {
    const { store, commits, waiting, release } = await stalled();
    const first = store.create(plantOf(0n));
    while (store.isFull() || waiting() > 0) await nextTurn();
    const controller = new AbortController();
    const leaving = store.create(plantOf(1000n), controller.signal);
    controller.abort("deadline");
    const all = Array.from({ length: 500 }, (_, id) => store.create(plantOf(BigInt(id))));
    await expect(leaving).rejects.toBe("deadline");
    expect(store.obstacle()).toBeUndefined();
    expect(commits).toEqual([]);
    release();
    await Promise.all([first, ...all]);
    // One begins with the first rows of the burst.
    expect(commits).toEqual([1, 32, 468]);
    // Nothing has its id.
    await store.create({ ...plantOf(1000n), name: "another" });
  });

  test("closing waits for running creates", async () => {
    const { store, release } = await stalled();
    const creating = store.create(plantOf(1n));
    const ends: string[] = [];
    const closing = store.close().then(() => ends.push("closed"));
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    expect(ends).toEqual([]);
    release();
    await creating.then(() => ends.push("created"));
    await closing;
    expect(ends).toEqual(["created", "closed"]);
  });
});
