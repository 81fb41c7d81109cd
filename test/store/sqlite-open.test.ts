import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listeningEvent } from "../../src/cli/welcome.ts";
import type { RunningServer } from "../../src/server/start.ts";
import { assertDurable, openDatabase } from "../../src/store/sqlite/database.ts";
import { isBelow, readValue } from "../../src/store/sqlite/driver.ts";
import { applicationId, migrations } from "../../src/store/sqlite/schema.ts";
import { openSqlite } from "../../src/store/sqlite/thread.ts";
import { openPlantReader, openStore, readSchemaState } from "../support/open-store.ts";
import { canMount } from "../support/small-file-system.ts";
import { plantOf } from "./plant-of.ts";
import { expectKept } from "./suite.ts";
import { openBeside, temporaryFolder, temporaryPath, watchWorkers } from "./temporary.ts";

watchWorkers();

const inUse = expect.objectContaining({ code: "in_use" });

async function expectRefused(url: string, expected: object, message: RegExp): Promise<void> {
  const opening = openStore(url);
  await expect(opening).rejects.toMatchObject(expected);
  await expect(opening).rejects.toThrow(message);
}

/** It is rejected, and every file in its folder stays as it is. */
async function expectLeftAlone(path: string, code: string, message: RegExp): Promise<void> {
  const names = () => fs.readdirSync(dirname(path));
  const contents = () => names().map((name) => [name, fs.readFileSync(join(path, "..", name))]);
  const before = contents();
  await expectRefused(`sqlite:${path}`, { code }, message);
  expect(contents()).toEqual(before);
}

/** It says that the file was empty before (sqlite.org/fileformat2.html, 3). */
function writeJournal(path: string): void {
  const journal = Buffer.alloc(512);
  journal.write("d9d505f920a163d7", "hex");
  journal.writeUInt32BE(512, 20);
  journal.writeUInt32BE(4096, 24);
  fs.writeFileSync(`${path}-journal`, journal);
}

describe("a store URL", () => {
  test.each<[string, RegExp]>([
    ["", /no scheme; use sqlite:PATH/],
    ["mysql://root:secret@host/plants", /no store is called "mysql"; use sqlite:PATH/],
    ["sqlite:", /names no file/],
    ["sqlite:///plants.db", /without \/\//],
    ["sqlite::memory:", /keeps nothing/],
    ["sqlite:file:plants.db", /without file:/],
    ["sqlite:plants.db?mode=ro", /no settings/],
    ["sqlite:~/plants.db", /whole path/],
    ["sqlite:./data/", /names a folder/],
    ["sqlite:plants.db ", /white space/],
    ["sqlite:plants\0.db", /U\+0000/],
    [`sqlite:${"d/".repeat(252)}a`, /more than 504 bytes/],
  ])("%j is rejected", async (url, message) => {
    await expectRefused(url, { problems: [{ setting: "store" }] }, message);
    await expect(openStore(url)).rejects.not.toThrow(/secret/);
  });

  test("may be relative to the working directory, with its scheme in any case", async () => {
    const folder = await temporaryFolder();
    const before = process.cwd();
    process.chdir(folder);
    onTestFinished(() => process.chdir(before));
    fs.mkdirSync("my data");
    if (process.getuid?.() === 0) fs.chownSync("my data", 65534, 65533); // root makes it for others
    await (await openStore("SQLite:./my data/plants%20.db")).close();
    expect(await readdir(join(folder, "my data"))).toEqual(["plants%20.db"]);
    const { uid, gid } = fs.statSync("my data");
    expect(fs.statSync("my data/plants%20.db")).toMatchObject({ uid, gid, mode: 0o100600 });
  });
});

test("a store URL is shown without its password and settings", () => {
  const store = "postgres://u%40x:secret@h1:1,[::1]/d%2F?sslmode=require";
  const shown = listeningEvent({ settings: { store, auth: {} } } as RunningServer);
  expect(shown).toMatchObject({ store: "postgres://u%40x@h1:1,[::1]:5432/d%2F" });
});

describe("a location that cannot hold a store is rejected", () => {
  const makeFileAbove = (path: string) => fs.writeFileSync(dirname(dirname(path)), "");
  const linkTwice = (path: string) => {
    openDatabase(path, 100).close();
    fs.linkSync(path, `${path}.2`);
  };
  const linkNowhere = (path: string) => fs.symlinkSync(join(path, "../none/plants.db"), path);

  test.each<[string, RegExp, string, (path: string) => void]>([
    ["a folder", /is not a file/, "plants.db", (path) => fs.mkdirSync(path)],
    ["below a file", /not a directory/, "file/data/plants.db", makeFileAbove],
    ["a name too long", /too long/, "x".repeat(300), () => {}],
    ["a file with two names", /hard link/, "plants.db", linkTwice],
    ["a link to nowhere", /no such file/, "plants.db", linkNowhere],
    ["no place for folders", /no such file/, `${"../".repeat(9)}proc/a/plants.db`, () => {}],
  ])("%s", async (_, message, name, prepare) => {
    const path = join(await temporaryFolder(), name);
    prepare(path);
    await expectRefused(`sqlite:${path}`, { code: "inaccessible" }, message);
    if (prepare !== linkTwice) return;
    await expect(readSchemaState(`sqlite:${path}.2`)).rejects.toThrow(message);
    const db = openBeside(path);
    db.exec("INSERT INTO plants VALUES (1, '', NULL)"); // now its log is beside it
    await readSchemaState(`sqlite:${path}`);
    db.exec("PRAGMA journal_mode = DELETE"); // as backups are, and tools keep them so
    await readSchemaState(`sqlite:${path}.2`);
  });

  test.skipIf(!canMount)("a mount of one file, also to read", async () => {
    const path = join(await temporaryFolder(), "a b.db");
    openDatabase(path, 100).close();
    execFileSync("mount", ["--bind", path, path]);
    onTestFinished(() => void execFileSync("umount", ["--lazy", path]));
    fs.symlinkSync(path, `${path}.link`);
    for (const open of [openStore, readSchemaState])
      await expect(open(`sqlite:${path}.link`)).rejects.toThrow(/mount its folder .* -wal/);
  });

  /** Held open at both ends, as nothing could end a test that waits for one. */
  const makePipe = (path: string) => {
    execFileSync("mkfifo", [path]);
    const pipe = fs.openSync(path, "r+");
    onTestFinished(() => fs.closeSync(pipe));
  };

  test.skipIf(process.platform === "win32").each([
    ["a folder", (path: string) => fs.mkdirSync(path)],
    ["a named pipe", makePipe],
  ])("%s, to read", async (_, prepare) => {
    const path = await temporaryPath();
    prepare(path);
    const message = `${path} is not a file; name one in the store URL`;
    for (const read of [openPlantReader, readSchemaState])
      await expect(read(`sqlite:${path}`)).rejects.toThrow(expect.objectContaining({ message }));
  });

  test.skipIf(process.getuid?.() === 0).each([
    ["a folder", 0o500, dirname],
    ["a database", 0o400, (path: string) => path],
  ])("%s that this user may only read", async (_, mode, targetOf) => {
    const path = await temporaryPath();
    const target = targetOf(path);
    if (target === path) openDatabase(path, 100).close();
    fs.chmodSync(target, mode);
    onTestFinished(() => fs.chmodSync(target, 0o700));
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({ code: "inaccessible" });
  });
});

describe("a file that is not ours is rejected and left unchanged:", () => {
  const table = "CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, tag TEXT)";
  const unmoved = `PRAGMA application_id = 1; PRAGMA journal_mode = WAL; ${table}`;
  const noDatabase = /not an SQLite database/;
  const another = /another program/;
  const makeWithJournal = (path: string) => {
    openBeside(path).exec(table);
    writeJournal(path);
  };

  test.each<[string, RegExp, (path: string) => unknown]>([
    ["prose", noDatabase, (path) => fs.writeFileSync(path, "These are my plants. ".repeat(10))],
    ["a few bytes", noDatabase, (path) => fs.writeFileSync(path, "SQLite format 3\0")],
    ["zeros", noDatabase, (path) => fs.writeFileSync(path, Buffer.alloc(4096))],
    ["another program's database", another, (path) => openBeside(path).exec(table)],
    ["one with a log not yet moved into it", another, (path) => openBeside(path).exec(unmoved)],
    ["one with a journal", another, makeWithJournal],
  ])("%s", async (_, message, write) => {
    const path = await temporaryPath();
    write(path);
    await expectLeftAlone(path, "foreign", message);
  });
});

test.each(["CREATE TABLE t (a)", "PRAGMA application_id = 1"])(
  "another program's database (%s) is not ours after a crash either",
  async (sql) => {
    const path = await temporaryPath();
    const foreign = openBeside(path);
    // The journal of a transaction that changes the header, from before its commit.
    foreign.exec(`${sql}; PRAGMA synchronous = OFF; BEGIN; PRAGMA user_version = 2`);
    const journal = fs.readFileSync(`${path}-journal`);
    foreign.exec("ROLLBACK");
    foreign.close();
    // As after a power failure: unwritten space.
    fs.writeFileSync(path, Buffer.alloc(8192));
    fs.writeFileSync(`${path}-journal`, journal);
    await expectRefused(`sqlite:${path}`, { code: "foreign" }, /another program/);
    expect(readValue(openBeside(path), "PRAGMA user_version")).toBe(0);
  },
);

describe("a database of ours", () => {
  const rebuild = (id: string, tag = "TEXT") =>
    `DROP TABLE plants; CREATE TABLE plants (id ${id}, name TEXT, tag ${tag})`;

  test.each([
    ["of a newer release", "newer_schema", /version 99, .*knows \d/, "PRAGMA user_version = 99"],
    ["of no release", "newer_schema", /version -1, .*; restore a/, "PRAGMA user_version = -1"],
    ["without its table", "damaged", /backup/, "DROP TABLE plants"],
    ["without a column", "damaged", /backup/, "ALTER TABLE plants DROP COLUMN tag"],
    ["with numeric tags", "damaged", /no tag TEXT/, rebuild("INTEGER PRIMARY KEY", "NUMERIC")],
    ["with ids of doubles", "damaged", /no id INTEGER/, rebuild("REAL PRIMARY KEY")],
    ["without its key", "damaged", /no PRIMARY KEY \(id\)/, rebuild("INTEGER UNIQUE")],
  ])("%s is rejected and left unchanged", async (_, code, message, damage) => {
    const path = await temporaryPath();
    const db = openDatabase(path, 100);
    db.exec(`INSERT INTO plants (id, name) VALUES (1, 'x'); ${damage}`);
    db.close();
    await expectLeftAlone(path, code, message);
  });

  test("in UTF-16, which holds no U+FFFF, is rejected", async () => {
    const path = await temporaryPath();
    const pragmas = `PRAGMA encoding = 'UTF-16'; PRAGMA application_id = ${applicationId}`;
    openBeside(path).exec(`${pragmas}; CREATE TABLE other (id)`);
    await expectRefused(`sqlite:${path}`, { code: "damaged" }, /no text in UTF-8/);
  });

  test("that was not completely created is created again", async () => {
    const path = await temporaryPath();
    // As after a power failure: unwritten space, and a journal.
    fs.writeFileSync(path, Buffer.alloc(4096));
    writeJournal(path);
    const store = await openStore(`sqlite:${path}`);
    onTestFinished(() => store.close());
    await store.create(plantOf(1));
    await expectKept(store, plantOf(1));
  });

  test("that this process already has open is rejected until it is closed", async () => {
    const url = `sqlite:${await temporaryPath()}`;
    const store = await openStore(url);
    await expect(openStore(url)).rejects.toMatchObject({ code: "in_use" });
    await expectRefused(`${url}-wal`, { name: "SettingsError" }, /belongs to another store/);
    await store.create(plantOf(1));
    await store.close();
    await (await openStore(url)).close();
  });

  test("that another process has locked is rejected after the timeout", async () => {
    const path = await temporaryPath();
    openDatabase(path, 100).close();
    const holder = openBeside(path);
    holder.exec("BEGIN IMMEDIATE");
    await expect(openSqlite(path, {}, 100)).rejects.toMatchObject({ code: "in_use" });
    const before = performance.now();
    expect(() => openDatabase(path, 200)).toThrow(inUse);
    expect(performance.now() - before).toBeGreaterThan(190);
    holder.exec("ROLLBACK");
    fs.writeFileSync(`${path}-wal`, Buffer.alloc(4096)); // zeros, as after a power loss
    await (await openSqlite(path, {}, 100)).close();
  });

  test("opens beside a reader without waiting for it, and leaves it the log", async () => {
    const path = await temporaryPath();
    const writer = openDatabase(path, 100);
    onTestFinished(() => writer.close());
    const reader = openBeside(path);
    reader.exec("BEGIN; SELECT * FROM plants");
    writer.exec("INSERT INTO plants (id, name) VALUES (1, 'in the log')");
    const before = performance.now();
    openDatabase(path, 60_000).close();
    expect(performance.now() - before).toBeLessThan(30_000);
    reader.exec("COMMIT");
    openDatabase(path, 100).close();
    expect(await readFile(path, "latin1")).not.toContain("in the log");
  });
});

test.each([
  ["journal_mode", "wal", "delete"],
  ["synchronous", 2, 1],
  ["fullfsync", 1, 0],
  ["checkpoint_fullfsync", 1, 0],
])("%s is %j, and a database on which it stays %j is rejected", async (pragma, wanted, actual) => {
  const db = openDatabase(await temporaryPath(), 100);
  onTestFinished(() => db.close());
  expect(readValue(db, `PRAGMA ${pragma}`)).toBe(wanted);
  assertDurable(db);
  db.exec(`PRAGMA ${pragma} = ${actual}`);
  expect(() => assertDurable(db)).toThrow(expect.objectContaining({ code: "not_durable" }));
});

test("every migration in the folder is known, in the order of its number", async () => {
  const folder = new URL("../../src/store/sqlite/migrations/", import.meta.url);
  expect([...migrations]).toEqual((await readdir(folder)).sort());
  for (const [index, name] of migrations.entries())
    expect(Number.parseInt(name, 10)).toBe(index + 1);
});

test("an SQLite that is too old is told from others", () => {
  const versions = ["3.51.2", "3.9.99", "3.51.3", "3.100.0", "4.0"];
  expect(versions.filter((one) => isBelow(one, "3.51.3"))).toEqual(["3.51.2", "3.9.99"]);
});
