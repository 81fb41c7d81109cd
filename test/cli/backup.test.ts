/** `plant-store backup`: of a store that a server writes to meanwhile. */
import { renameSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { backupDatabase } from "../../src/store/sqlite/backup.ts";
import { plantOf, plantsOf } from "../store/plant-of.ts";
import { damageLeaf, exactPlants, seed } from "../store/reader-places.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { spawnChild } from "../support/child.ts";
import { openStore } from "../support/open-store.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { readStoredPlants } from "../support/stored-plants.ts";

async function prepare(plants = exactPlants) {
  const folder = await temporaryFolder();
  const database = join(folder, "plants.db");
  const store = `sqlite:${database}`;
  await seed(store, plants);
  const file = join(folder, "backup.db");
  const runTo = (path: string, ...flags: readonly string[]) =>
    runInProcess(["backup", path, "--store", store, ...flags]);
  const run = (...flags: readonly string[]) => runTo(file, ...flags);
  const listed = async () => (await readdir(folder)).filter((name) => name.includes("backup"));
  return { folder, database, store, file, run, runTo, listed };
}

test("a backup holds every plant exactly, as one file with the rights of the store", async () => {
  const { database, store, file, run, listed } = await prepare();
  await chmod(database, 0o640);
  const stdout = `backed up ${store} to ${file}: 11 plants, integrity checked\n`;
  expect(await run()).toEqual({ code: 0, stdout, stderr: "" });
  expect(await listed()).toEqual(["backup.db"]);
  expect((await stat(file)).mode & 0o777).toBe(0o640);
  expect(readStoredPlants(file)).toEqual(readStoredPlants(database));
  // A store like any other: a server may start on it.
  await (await openStore(`sqlite:${file}`)).close();
});

test("a server that writes meanwhile is not waited for, and does not disturb", async () => {
  // Some 5,000 pages: several steps of the copy.
  const plants = plantsOf(2000).map((plant) => ({ ...plant, name: "x".repeat(9000) }));
  const { database, store, file } = await prepare(plants);
  const serving = await openStore(store);
  onTestFinished(() => serving.close());
  // In the log, and not yet in the database.
  await serving.create(plantOf(-1n));
  using other = new DatabaseSync(database, { timeout: 5000 });
  let steps = 0;
  const count = await backupDatabase(database, {
    file,
    signal: new AbortController().signal,
    onProgress(done, total) {
      expect(done).toBeLessThan(total);
      // Each commit of another would make SQLite begin anew.
      other.exec(`INSERT INTO plants (id, name) VALUES (${10_000 + steps++}, 'late')`);
    },
  });
  expect(steps).toBeGreaterThan(1);
  expect(count).toBe(2001);
  expect(readStoredPlants(file).map(({ id }) => id)).toEqual([-1n, ...plants.map(({ id }) => id)]);
  expect(readStoredPlants(database)).toHaveLength(2001 + steps);
});

test("a backup that is there is replaced with --force alone", async () => {
  const { database, store, file, run, listed } = await prepare([plantOf(1n)]);
  expect(await run()).toMatchObject({ code: 0 });
  await seed(store, [plantOf(2n)]);
  expect(await run()).toMatchObject({ code: 1, stderr: expect.stringContaining("--force") });
  expect(readStoredPlants(file)).toHaveLength(1);
  const owner = process.getuid?.() === 0 ? 65534 : (await stat(file)).uid;
  await chown(file, owner, -1);
  expect(await run("--force")).toMatchObject({ code: 0 });
  expect((await stat(file)).uid).toBe(owner);
  expect(readStoredPlants(file)).toEqual(readStoredPlants(database));
  expect(await listed()).toEqual(["backup.db"]);
});

// Those of a header cannot be counted. Of rows, only an integrity check finds it.
test.each(["its header", "its rows"] as const)("%s damaged, it has no backup", async (what) => {
  const { database, run, listed } = await prepare(plantsOf(3000));
  await damageLeaf(database, what);
  const stderr = expect.stringMatching(/^[^\ufffd]*damaged[^\ufffd]*$/);
  expect(await run()).toEqual({ code: 1, stdout: "", stderr });
  expect(await listed()).toEqual([]);
});

const unstopped = { signal: new AbortController().signal, onProgress() {} };

/** The copy takes several steps. */
const large = { ...plantOf(1n), name: "x".repeat(9_000_000) };

test("another database in the place of the copy is no backup", async () => {
  const other = await prepare([plantOf(1n)]);
  const { database, file } = await prepare([large, plantOf(2n)]);
  const onProgress = () => renameSync(other.database, file);
  const copied = backupDatabase(database, { ...unstopped, file, onProgress });
  await expect(copied).rejects.toThrow(/^the copy has 1 plants instead of 2, and/);
});

test("a copy that cannot be written is no fault of the store", async () => {
  const { folder, database } = await prepare();
  const copied = backupDatabase(database, { ...unstopped, file: folder });
  await expect(copied).rejects.toThrow(/^cannot copy the store to the backup .SQLITE_CANTOPEN.$/);
});

test.each([[exactPlants], [[large]]])("one that is stopped ends at once (%#)", async (plants) => {
  const { database, file } = await prepare(plants);
  const options = { file, signal: AbortSignal.abort(), onProgress: () => expect.unreachable() };
  await expect(backupDatabase(database, options)).rejects.toMatchObject({ message: "interrupted" });
});

test("a signal ends one that verifies its copy", async () => {
  const { folder, database, store, file, listed } = await prepare([]);
  using db = new DatabaseSync(database);
  db.exec(`ALTER TABLE plants ADD COLUMN slow TEXT CHECK (instr(name, substr(name, 3e5) || 'b') = 0);
    PRAGMA ignore_check_constraints = 1;
    INSERT INTO plants (id, name) VALUES (1, replace(hex(zeroblob(300000)), '0', 'a'))`);
  await using child = spawnChild(["backup", file, "--store", store], { cwd: folder });
  const copy = async () => await readFile(join(folder, (await listed())[0] ?? "", "new"));
  // Out of WAL mode, which is what it does first.
  await expect.poll(async () => (await copy().catch(() => []))[18]).toBe(1);
  child.process.kill("SIGTERM");
  expect(await child.exited).toEqual({ code: null, signal: "SIGTERM" });
});

test("what a killed one has left is told, and left alone", async () => {
  const { folder, run, listed } = await prepare();
  const left = ".backup.db.part-Ab3dEf";
  await mkdir(join(folder, left));
  await writeFile(join(folder, left, "backup.db"), "half");
  expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining(left) });
  expect((await listed()).sort()).toEqual([left, "backup.db"]);
  expect(await readFile(join(folder, left, "backup.db"), "utf8")).toBe("half");
});

test("its file may have a long name, deep in folders", async () => {
  const { folder, runTo } = await prepare();
  // SQLite opens no path of more than 512 bytes; this one leaves room for its -journal.
  const deep = join(folder, ...Array.from({ length: 6 }, () => "d".repeat(40)));
  await mkdir(deep, { recursive: true });
  const file = join(deep, "n".repeat(480 - Buffer.byteLength(deep)));
  expect(await runTo(file)).toMatchObject({ code: 0 });
  expect(readStoredPlants(file)).toHaveLength(11);
});

test.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
  "it may be put where nobody may look, and need not be writable",
  async () => {
    const { folder, runTo } = await prepare();
    const box = join(folder, "box");
    await mkdir(box);
    await chmod(box, 0o300);
    onTestFinished(() => chmod(box, 0o700));
    const file = join(box, "backup.db");
    expect(await runTo(file)).toMatchObject({ code: 0 });
    expect(readStoredPlants(file)).toHaveLength(11);
    await chmod(file, 0o400);
    const status = await runInProcess(["migrate", "status", "--store", `sqlite:${file}`]);
    expect(status).toMatchObject({ code: 0, stderr: "" });
  },
);
