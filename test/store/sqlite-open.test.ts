import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import {
  describeStoreUrl,
  findStoreProblem,
  isSameStore,
  openStore,
} from "../../src/store/open.ts";
import type { StoreOpenErrorCode } from "../../src/store/open-error.ts";
import { assertDurable, openDatabase } from "../../src/store/sqlite/database.ts";
import { isBelow } from "../../src/store/sqlite/driver.ts";
import { migrations } from "../../src/store/sqlite/schema.ts";
import { plantOf } from "./plant-of.ts";
import { expectKept } from "./suite.ts";
import { temporaryFolder, WorkerWatch } from "./temporary.ts";

const workers = new WorkerWatch();
afterAll(() => workers.end());

describe("a store URL", () => {
  test.each<[string, RegExp]>([
    ["", /no scheme; there is: sqlite:PATH/],
    ["./data/plants.db", /no scheme; there is: sqlite:PATH/],
    ["mysql://root:secret@host/plants", /no store is called "mysql"; there is: sqlite:PATH/],
    ["sqlite:", /names no file/],
    ["sqlite://host/plants.db", /without \/\//],
    ["sqlite:///plants.db", /without \/\//],
    ["sqlite::memory:", /keeps nothing/],
    ["sqlite:file:plants.db", /without file:/],
    ["sqlite:plants.db?mode=ro", /no settings/],
    ["sqlite:plants.db#1", /no settings/],
    ["sqlite:~/plants.db", /whole path/],
    ["sqlite:./data/", /names a folder/],
    ["sqlite:plants.db ", /white space/],
    ["sqlite: plants.db", /white space/],
    ["sqlite:plants\0.db", /U\+0000/],
  ])("%j is rejected", async (url, message) => {
    const opening = openStore(url);
    await expect(opening).rejects.toMatchObject({ name: "SettingsError" });
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.not.toThrow(/secret/);
  });

  test("may be relative to the working directory, with its scheme in any case", async () => {
    const folder = await temporaryFolder();
    const before = process.cwd();
    process.chdir(folder);
    onTestFinished(() => process.chdir(before));
    const store = await openStore("SQLite:./my data/plants%20.db");
    await store.close();
    expect(await readdir(join(folder, "my data"))).toEqual(["plants%20.db"]);
  });
});

describe("two URLs", () => {
  test.each([
    ["sqlite:/a/plants.db", "SQLite:/a/b/../plants.db", true],
    ["sqlite:/a/plants.db", "sqlite:/a/plants2.db", false],
    ["postgres://u:p@h/d", "postgresql://u:other@h:5432/d", true],
    ["postgres://u@h/d", "postgres://u@h/e", false],
    ["postgres://u@h/d", "sqlite:/u@h/d", false],
  ])("%s and %s name the same store: %s", (one, other, isSame) => {
    expect(isSameStore(one, other)).toBe(isSame);
  });

  test("name the same store by a link to its file", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "plants.db");
    await writeFile(path, "");
    await symlink(path, join(folder, "link"));
    await writeFile(join(folder, "other"), "");
    expect(isSameStore(`sqlite:${path}`, `sqlite:${join(folder, "link")}`)).toBe(true);
    expect(isSameStore(`sqlite:${path}`, `sqlite:${join(folder, "other")}`)).toBe(false);
  });
});

test.each([
  ["sqlite:./data/plants.db", "sqlite:./data/plants.db", undefined],
  ["postgres://u:secret@h/d", "postgres://u@h:5432/d", undefined],
  ["postgres:h", undefined, "cannot use the store URL: write postgres:"],
  ["postgres://u@h?sslmode=x", undefined, "sslmode: must be disable, require or verify-full"],
  ["plants.db", undefined, "the store URL has no scheme; there is: sqlite:PATH, postgres:"],
  [":plants.db", undefined, "the store URL has no scheme"],
])("%s is shown as %s, and its problem is %s", (url, shown, problem) => {
  if (shown !== undefined) expect(describeStoreUrl(url)).toBe(shown);
  else expect(() => describeStoreUrl(url)).toThrow();
  expect(findStoreProblem(url)?.slice(0, problem?.length)).toBe(problem);
});

describe("a location that cannot hold a store is rejected", () => {
  test.each<[string, RegExp, (folder: string) => Promise<string>]>([
    [
      "a folder",
      /is not a file/,
      async (folder) => {
        await mkdir(join(folder, "plants.db"));
        return "plants.db";
      },
    ],
    [
      "below a file",
      /a part of the path is a file/,
      async (folder) => {
        await writeFile(join(folder, "file"), "");
        return "file/data/plants.db";
      },
    ],
    ["a name too long", /too long/, async () => "x".repeat(300)],
    [
      "a link to nowhere",
      /does not exist/,
      async (folder) => {
        await symlink(join(folder, "none", "plants.db"), join(folder, "plants.db"));
        return "plants.db";
      },
    ],
  ])("%s", async (_, message, prepare) => {
    const folder = await temporaryFolder();
    const opening = openStore(`sqlite:${join(folder, await prepare(folder))}`);
    await expect(opening).rejects.toMatchObject({ code: "inaccessible" });
    await expect(opening).rejects.toThrow(message);
  });

  test.skipIf(process.getuid?.() === 0).each([
    ["a folder", 0o500, "."],
    ["a database", 0o400, "plants.db"],
  ])("%s that this user may only read", async (_, mode, target) => {
    const folder = await temporaryFolder();
    const path = join(folder, "plants.db");
    if (target === "plants.db") await (await openStore(`sqlite:${path}`)).close();
    await chmod(join(folder, target), mode);
    onTestFinished(() => chmod(join(folder, target), 0o700));
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({ code: "inaccessible" });
  });
});

describe("a file that is not ours is rejected and left unchanged:", () => {
  const text = "These are my plants, in prose. ".repeat(10);

  test.each<[string, RegExp, (path: string) => Promise<(() => void) | undefined>]>([
    [
      "prose",
      /not an SQLite database/,
      async (path) => {
        await writeFile(path, text);
        return undefined;
      },
    ],
    [
      "a few bytes",
      /not an SQLite database/,
      async (path) => {
        await writeFile(path, "SQLite format 3\0");
        return undefined;
      },
    ],
    [
      "zeros",
      /not an SQLite database/,
      async (path) => {
        await writeFile(path, Buffer.alloc(4096));
        return undefined;
      },
    ],
    [
      "another program's database",
      /another program/,
      async (path) => {
        const db = new DatabaseSync(path, { timeout: 5000 });
        db.exec("CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, tag TEXT)");
        db.close();
        return undefined;
      },
    ],
    [
      "another program's database, with a log that is not yet moved into it",
      /another program/,
      async (path) => {
        const db = new DatabaseSync(path, { timeout: 5000 });
        db.exec("PRAGMA application_id = 1");
        db.exec("PRAGMA journal_mode = WAL");
        db.exec("CREATE TABLE notes (text TEXT)");
        return () => void db.close();
      },
    ],
  ])("%s", async (_, message, write) => {
    const folder = await temporaryFolder();
    const path = join(folder, "plants.db");
    const close = await write(path);
    if (close !== undefined) onTestFinished(close);
    const before = await contents(folder);
    const opening = openStore(`sqlite:${path}`);
    await expect(opening).rejects.toMatchObject({ code: "foreign" });
    await expect(opening).rejects.toThrow(message);
    expect(await contents(folder)).toEqual(before);
  });
});

describe("a database of ours", () => {
  test.each<[string, StoreOpenErrorCode, RegExp, string]>([
    ["of a newer release", "newer_schema", /version 2, .*knows 1/, "PRAGMA user_version = 2"],
    ["without its table", "damaged", /backup/, "DROP TABLE plants"],
    ["with another table", "damaged", /backup/, "ALTER TABLE plants DROP COLUMN tag"],
  ])("%s is rejected and left unchanged", async (_, code, message, damage) => {
    const folder = await temporaryFolder();
    const path = join(folder, "plants.db");
    const store = await openStore(`sqlite:${path}`);
    await store.create(plantOf(1n));
    await store.close();
    const db = new DatabaseSync(path, { timeout: 5000 });
    db.exec(damage);
    db.close();
    const before = await contents(folder);
    const opening = openStore(`sqlite:${path}`);
    await expect(opening).rejects.toMatchObject({ code });
    await expect(opening).rejects.toThrow(message);
    expect(await contents(folder)).toEqual(before);
  });

  test("that was not completely created is created again", async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "plants.db");
    // As after a power failure: unwritten space, and a journal that says that the file was empty
    // before (sqlite.org/fileformat2.html, 3).
    await writeFile(path, Buffer.alloc(4096));
    const journal = Buffer.alloc(512);
    journal.write("d9d505f920a163d7", "hex");
    journal.writeUInt32BE(512, 20);
    journal.writeUInt32BE(4096, 24);
    await writeFile(`${path}-journal`, journal);
    const store = await openStore(`sqlite:${path}`);
    onTestFinished(() => store.close());
    await store.create(plantOf(1n));
    await expectKept(store, plantOf(1n));
  });

  test("that this process already has open is rejected until it is closed", async () => {
    const url = `sqlite:${join(await temporaryFolder(), "plants.db")}`;
    const store = await openStore(url);
    await expect(openStore(url)).rejects.toMatchObject({ code: "in_use" });
    await store.create(plantOf(1n));
    await store.close();
    await (await openStore(url)).close();
  });

  test("that another process has locked is rejected after the timeout", async () => {
    const path = join(await temporaryFolder(), "plants.db");
    const holder = openDatabase(path, 100);
    onTestFinished(() => void holder.close());
    holder.exec("BEGIN IMMEDIATE");
    expect(() => openDatabase(path, 100)).toThrow(expect.objectContaining({ code: "in_use" }));
    holder.exec("ROLLBACK");
    openDatabase(path, 100).close();
  });

  test("confirms nothing while an unsynced log cannot be settled", async () => {
    const path = join(await temporaryFolder(), "plants.db");
    const writer = openDatabase(path, 100);
    onTestFinished(() => void writer.close());
    const reader = new DatabaseSync(path, { timeout: 5000 });
    onTestFinished(() => void reader.close());
    reader.exec("BEGIN; SELECT * FROM plants");
    writer.exec("INSERT INTO plants (id, name) VALUES (1, 'x')");
    expect(() => openDatabase(path, 100)).toThrow(expect.objectContaining({ code: "in_use" }));
    reader.exec("COMMIT");
    openDatabase(path, 100).close();
  });

  test("is settled when it opens: nothing is left only in the log", async () => {
    const path = join(await temporaryFolder(), "plants.db");
    const before = openDatabase(path, 100);
    onTestFinished(() => void before.close());
    before.exec("INSERT INTO plants (id, name) VALUES (1, 'in the log')");
    expect(await readFile(path, "latin1")).not.toContain("in the log");
    openDatabase(path, 100).close();
    expect(await readFile(path, "latin1")).toContain("in the log");
  });
});

test.each([
  ["synchronous", 1],
  ["synchronous", 0],
  ["journal_mode", "delete"],
  ["fullfsync", 0],
  ["checkpoint_fullfsync", 0],
])("a database on which %s stays %j is rejected", async (pragma, value) => {
  const db = openDatabase(join(await temporaryFolder(), "plants.db"), 100);
  onTestFinished(() => void db.close());
  assertDurable(db);
  db.exec(`PRAGMA ${pragma} = ${value}`);
  expect(() => assertDurable(db)).toThrow(expect.objectContaining({ code: "not_durable" }));
});

test("every migration in the folder is applied, in the order of its number", async () => {
  const folder = new URL("../../src/store/sqlite/migrations/", import.meta.url);
  expect([...migrations]).toEqual((await readdir(folder)).sort());
  for (const [index, name] of migrations.entries())
    expect(Number.parseInt(name, 10)).toBe(index + 1);
});

test.each([
  ["3.51.2", true],
  ["3.9.99", true],
  ["3.51.3", false],
  ["3.100.0", false],
  ["4.0", false],
])("SQLite %s is too old: %s", (version, below) => {
  expect(isBelow(version, [3, 51, 3])).toBe(below);
});

/** Every file below a directory, with its content. */
async function contents(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const name of await readdir(folder)) {
    files.set(name, await readFile(join(folder, name), "base64"));
  }
  return files;
}
