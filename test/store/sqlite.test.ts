import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { readValue } from "../../src/store/sqlite/driver.ts";
import { migrations } from "../../src/store/sqlite/schema.ts";
import { openThread } from "../../src/store/sqlite/thread.ts";
import { openStore } from "../support/open-store.ts";
import { plantOf, plantsOf } from "./plant-of.ts";
import { storeSuite } from "./suite.ts";
import { openBeside, temporaryPath, watchWorkers } from "./temporary.ts";

watchWorkers();

storeSuite("sqlite", async () => {
  const path = await temporaryPath();
  return () => openStore(`sqlite:${path}`);
});

async function openFresh() {
  const path = join(dirname(await temporaryPath()), "some", "data", "plants.db");
  const store = await openStore(`sqlite:${path}`);
  onTestFinished(() => store.close());
  return { path, store };
}

test("the file is plain SQLite that others read while the store is open, and the only one after", async () => {
  const { path, store } = await openFresh();
  await store.create({ id: 9007199254740993n, name: "\ufeffe\u0301" });
  const reader = openBeside(path);
  expect(readValue(reader, "SELECT hex(name) FROM plants WHERE tag IS NULL")).toBe("EFBBBF65CC81");
  expect(readValue(reader, "PRAGMA integrity_check")).toBe("ok");
  expect(readValue(reader, "PRAGMA journal_mode")).toBe("wal");
  expect(readValue(reader, "PRAGMA application_id")).toBe(0x504c4e54);
  expect(readValue(reader, "PRAGMA user_version")).toBe(migrations.length);
  reader.close();
  await store.close();
  expect(await readdir(dirname(path))).toEqual(["plants.db"]);
  expect(readValue(openBeside(path), "SELECT count(*) FROM plants")).toBe(1);
});

test("texts that a collation takes for equal are those of another plant", async () => {
  const { path, store } = await openFresh();
  openBeside(path).exec(`DROP TABLE plants;
    CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, tag TEXT COLLATE RTRIM)`);
  await store.create({ id: 1n, name: "Basil", tag: "a" });
  for (const other of [{ name: "BASIL" }, { tag: "a " }]) {
    const creating = store.create({ id: 1n, name: "Basil", tag: "a", ...other });
    await expect(creating).rejects.toMatchObject({ code: "id_taken" });
  }
});

test("the log is copied to the database when it is long, however long the texts are", async () => {
  const { path, store } = await openFresh();
  const name = "x".repeat(1_000_000);
  const write = (count: number, from: number) =>
    Promise.all(plantsOf(count, from).map((plant) => store.create({ ...plant, name })));
  await write(8, 0);
  expect((await stat(path)).size).toBeLessThan(1_000_000);
  for (let round = 1; round <= 4; round++) await write(20, 100 * round);
  // Of 88 MB, 16 MB at a time may stay in the log.
  expect((await stat(path)).size).toBeGreaterThan(40_000_000);
  expect((await stat(`${path}-wal`)).size).toBeLessThan(40_000_000);
});

test("a long log that an earlier process has left is copied to the database", async () => {
  const path = await temporaryPath();
  await (await openStore(`sqlite:${path}`)).close();
  const earlier = openBeside(path);
  earlier.exec("PRAGMA wal_autocheckpoint = 0");
  earlier.exec("INSERT INTO plants (id, name) VALUES (1, printf('%.*c', 17000000, 'x'))");
  const store = await openStore(`sqlite:${path}`);
  onTestFinished(() => store.close());
  await expect.poll(async () => (await stat(path)).size).toBeGreaterThan(17_000_000);
});

test("a log that grows for a reader is told, and when it is copied", async () => {
  const path = await temporaryPath();
  const notices: string[] = [];
  const logChanged = vi.fn<(bytes: number) => void>();
  const observer = { queueChanged() {}, commitEnded() {}, logChanged };
  const onNotice = (text: string) => void notices.push(text);
  const store = await openStore(`sqlite:${path}`, { onNotice, observer });
  onTestFinished(() => store.close());
  const reader = openBeside(path);
  reader.exec("BEGIN; SELECT * FROM plants");
  const large = { ...plantOf(0), name: "x".repeat(1_000_000) };
  for (let id = 0n; id < 60n; id++) await store.create({ ...large, id });
  expect(notices).toEqual([]);
  for (let id = 60n; id < 70n; id++) await store.create({ ...large, id });
  await expect.poll(() => notices).toHaveLength(1);
  expect(notices[0]).toMatch(/^the log of .*plants\.db grows, because a program keeps reading/);
  expect(logChanged.mock.lastCall?.[0]).toBeGreaterThan(70_000_000);
  reader.exec("COMMIT");
  for (let id = 70n; id < 72n; id++) await store.create({ ...large, id });
  await expect.poll(() => notices).toHaveLength(2);
  expect(notices[1]).toMatch(/has been copied/);
  expect(logChanged.mock.lastCall?.[0]).toBeLessThan(20_000_000);
  expect((await stat(`${path}-wal`)).size).toBeLessThanOrEqual(2 ** 26);
});

test("an inspection writes nothing, but a probe does", async () => {
  const path = await temporaryPath();
  const thread = await openThread(path, 100);
  onTestFinished(() => thread.close());
  const sizes = [(await stat(`${path}-wal`)).size];
  for (const check of [() => thread.inspect(), () => thread.probe()]) {
    await check();
    sizes.push((await stat(`${path}-wal`)).size);
  }
  expect(sizes[1]).toBe(sizes[0]);
  expect(sizes[2]).toBeGreaterThan(Number(sizes[1]));
  openBeside(path).exec("ALTER TABLE plants RENAME tag TO label");
  await expect(thread.inspect()).rejects.toThrow(/no tag TEXT/);
  await rm(path);
  await expect(thread.probe()).rejects.toThrow(/deleted/);
});
