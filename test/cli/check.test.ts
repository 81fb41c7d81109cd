/** `plant-store check`: what it finds, and that it changes no plant. */
import fs from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createToken } from "connect-gateway-kit/auth/token-file";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { describeUsers } from "../../src/store/sqlite/users.ts";
import { plantOf } from "../store/plant-of.ts";
import { openDatabase } from "../store/postgres/fresh.ts";
import { damageLeaf, placeKinds, seed } from "../store/reader-places.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { spawnServer } from "../support/child-server.ts";
import { openStore } from "../support/open-store.ts";
import { password } from "../support/postgres-databases.ts";
import { hasPostgres } from "../support/postgres-server.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { sharedServer } from "../support/shared-postgres.ts";

const plants = Array.from({ length: 3000 }, (_, index) => plantOf(BigInt(index)));

async function prepare({ parent, count = 3 }: { parent?: string; count?: number } = {}) {
  const folder = join(await temporaryFolder(parent), "data");
  await fs.mkdir(folder, { mode: 0o700 });
  const database = join(folder, "plants.db");
  const tokenFile = join(folder, "tokens");
  await seed(`sqlite:${database}`, plants.slice(0, count));
  await createToken(tokenFile, "me", "plst_");
  const link = join(await temporaryFolder(), "link.db");
  await fs.symlink(database, link);
  const runOn = (path: string, ...flags: readonly string[]) =>
    runInProcess(["check", "--store", `sqlite:${path}`, "--token-file", tokenFile, ...flags]);
  const run = (...flags: readonly string[]) => runOn(database, ...flags);
  return { folder, database, tokenFile, run, runByLink: () => runOn(link) };
}

/** The tests' files may be in memory. */
const failed = (text: string) =>
  text.split("\n").filter((line) => !/^(ok|plant-store) |^$|\(tmpfs\)/.test(line));

test("a store that a server has open is sound, and stays as it is", async () => {
  const { folder, database, run } = await prepare();
  // As /tmp has: users cannot replace each other's files.
  await fs.chmod(folder, 0o1777);
  const serving = await openStore(`sqlite:${database}`);
  onTestFinished(() => serving.close());
  await serving.create(plantOf(-1n));
  const files = await fs.readdir(folder);
  const bytes = await fs.readFile(database);
  const { code, stdout, stderr } = await run();
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(failed(stdout)).toEqual([]);
  for (const line of [
    /^ok {4}Node {8}\d+\.\d+\.\d+$/m,
    /^ok .* SQLite .*3\./m,
    /1 in .*tokens$/m,
    /synchronous=FULL/,
    /version (\d+) of \1$/m,
    /MiB free$/m,
    /whole; plants: 4$/m,
  ]) {
    expect(stdout).toMatch(line);
  }
  const asJson = JSON.parse((await run("--json")).stdout);
  const findings: { level: string; subject: string }[] = asJson.findings;
  expect(asJson.store).toBe(`sqlite:${database}`);
  expect(findings.filter(({ level }) => level === "ok").map(({ subject }) => subject)).toEqual(
    "Node tokens SQLite rights disk log schema settings integrity".split(" "),
  );
  expect(await fs.readdir(folder)).toEqual(files);
  expect((await fs.readFile(database)).equals(bytes)).toBe(true);
  await serving.create(plantOf(-2n));
});

test.skipIf(process.platform !== "linux")("a second server is told, and by a check", async () => {
  const { database, run } = await prepare();
  const options = { args: ["--store", `sqlite:${database}`] };
  await using first = await spawnServer(options);
  expect([first.stderr.text, ...failed((await run()).stdout)], "of one").toEqual([""]);
  await using second = await spawnServer(options);
  const { pid } = first.process;
  await second.stderr.until(new RegExp(`another server has ${database} open; .*: process ${pid} `));
  const { code, stdout } = await run();
  expect(code).toBe(0);
  expect(failed(stdout)).toEqual([
    expect.stringMatching(/^warn {2}servers .*run one for each file: process \d+ .*, process \d+ /),
  ]);
  await expect.poll(() => describeUsers(database, "readers")).toBe("");
});

test("the log that a crash has left stays as it is", async () => {
  const [running, crashed] = [await prepare(), await prepare()];
  const serving = await openStore(`sqlite:${running.database}`);
  onTestFinished(() => serving.close());
  await serving.create(plantOf(-1n));
  const files = ["", "-wal"].map((suffix) => `${crashed.database}${suffix}`);
  for (const file of files) await fs.copyFile(file.replace(crashed.folder, running.folder), file);
  const contents = () => Promise.all(files.map((file) => fs.readFile(file, "latin1")));
  const before = await contents();
  expect((await crashed.run()).stdout).toMatch(/whole; plants: 4$/m);
  expect(await contents()).toEqual(before);
});

type Place = Awaited<ReturnType<typeof prepare>>;

const mode = (what: "database" | "folder" | "tokenFile", bits: number) => (at: Place) =>
  fs.chmod(at[what], bits);
const written = (what: "database" | "tokenFile", text: string) => (at: Place) =>
  fs.writeFile(at[what], text);
const sql = (text: string) => (at: Place) => {
  using db = new DatabaseSync(at.database, { timeout: 5000 });
  db.exec(text);
};

const header = (at: Place) => damageLeaf(at.database, "its header");
const rows = (at: Place) => damageLeaf(at.database, "its rows");

async function makeLongLog({ database }: Place) {
  await fs.writeFile(`${database}-wal`, "");
  await fs.truncate(`${database}-wal`, 257 * 1024 * 1024);
}

const noDatabase = "no database".repeat(500);

const keyless = "ALTER TABLE plants RENAME TO x; CREATE VIEW plants AS SELECT id, name, tag FROM x";

const faults: readonly [what: string, make: (at: Place) => unknown, found: RegExp][] = [
  ["others can read the store", mode("database", 0o644), /^warn {2}rights .*chmod 600/],
  ["others can write its folder", mode("folder", 0o777), /^fail {2}rights .*chmod 700/],
  ["a newer schema", sql("PRAGMA user_version = 9"), /^fail {2}store .*run the newer release/],
  ["a schema that is due", sql("PRAGMA user_version = 0"), /^warn {2}schema .* 0 of \d+.*migrate/],
  ["a table without its key", sql(keyless), /^fail {2}store .*plants has no PRIMARY KEY \(id\)/],
  ["a damaged page", header, /^fail {2}integrity [^\ufffd]*restore the store from a backup/],
  ["rows that are out of place", rows, /^fail {2}integrity [^\ufffd]*restore the store/],
  ["a long log", makeLongLog, /^warn {2}log .* 257 MiB; stop whatever reads the store/],
  ["no database", written("database", noDatabase), /^fail {2}store .*not an SQLite database/],
  ["others can write the tokens", mode("tokenFile", 0o666), /^fail {2}tokens .*chmod 600/],
  ["the group can read the tokens", mode("tokenFile", 0o640), /^warn {2}tokens .*chmod 600/],
  ["others can read the tokens", mode("tokenFile", 0o604), /^warn {2}tokens .*chmod 600/],
  ["broken tokens", written("tokenFile", "nonsense\n"), /^fail {2}tokens .*line 1 cannot be un/],
  ["no tokens", written("tokenFile", ""), /^warn {2}tokens .*create --token-file \S+ NAME$/],
];

test.skipIf(process.platform === "win32").each(faults)("finds %s", async (_what, make, found) => {
  const at = await prepare({ count: make === header || make === rows ? plants.length : 3 });
  await make(at);
  for (const run of [at.run, at.runByLink]) {
    const { stdout, ...result } = await run();
    const failing = { code: 1, stderr: "plant-store: failed checks: 1\n" };
    expect(result).toEqual(found.source.startsWith("^warn") ? { code: 0, stderr: "" } : failing);
    expect(failed(stdout)).toEqual([expect.stringMatching(found)]);
  }
});

test.skipIf(process.getuid?.() === 0).each([
  ["the store", "database", 0o400],
  ["its folder", "folder", 0o500],
] as const)("finds that this user cannot write %s", async (_, what, bits) => {
  const at = await prepare();
  await fs.chmod(at[what], bits);
  onTestFinished(() => fs.chmod(at[what], 0o700));
  const { code, stdout } = await at.run();
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail {2}rights .*permission denied/m);
});

test.skipIf(memoryFolder !== "/dev/shm")("finds a store in memory", async () => {
  const { stdout } = await (await prepare({ parent: memoryFolder })).runByLink();
  expect(stdout).toMatch(/^warn {2}disk .*in memory \(tmpfs\): .*use a disk$/m);
});

test("a store that is not there is not made", async () => {
  const folder = await temporaryFolder();
  const args = ["check", "--store", `sqlite:${folder}/a/none.db`, "--token-file", `${folder}/t`];
  const { code, stdout } = await runInProcess(args);
  expect(code).toBe(1);
  expect(failed(stdout)).toEqual([
    expect.stringMatching(/^warn {2}tokens .*does not exist.* --token-file /),
    expect.stringMatching(/^fail {2}store .*there is no store at .*none\.db/),
  ]);
  expect(await fs.readdir(folder)).toEqual([]);
});

describe.skipIf(!hasPostgres)("of PostgreSQL", () => {
  const run = (url: string) => runInProcess(["check", "--store", url, "--token-file", "/none"]);

  test("a store is told from a database where none is yet, which stays empty", async () => {
    const place = await placeKinds(sharedServer)[1]?.fresh();
    if (place === undefined) throw new Error("no PostgreSQL");
    const before = await run(place.url);
    expect(before).toMatchObject({ code: 0, stderr: "" });
    expect(before.stdout).toMatch(/^warn {2}schema .*version 0 of \d+; the next start migrates/m);
    await seed(place.url, plants.slice(0, 3));
    const after = await run(place.url);
    expect(after).toMatchObject({ code: 0, stderr: "" });
    expect(after.stdout).toMatch(/^ok {4}schema .*version (\d+) of \1$/m);
    expect(after.stdout).toMatch(/^warn {2}settings .*fsync is off, as allow_unsafe accepts/m);
    expect(after.stdout).not.toContain("nodes");
    expect(after.stdout).not.toContain(password);
    await place.execute("ALTER TABLE plants SET UNLOGGED");
    const unlogged = await run(place.url);
    expect(unlogged.code).toBe(1);
    expect(unlogged.stdout).toMatch(/^fail {2}table .*SET LOGGED$/m);
    const strict = await run(place.url.replace(/allow_unsafe=[^&]*/, ""));
    expect(strict.stdout).toMatch(/^fail {2}connection .*fsync=off/m);
  });

  const dropKey = "ALTER TABLE plants DROP CONSTRAINT plants_pkey";
  const drop = "REVOKE CREATE ON SCHEMA public FROM PUBLIC; DROP TABLE plant_store_migrations";

  test.each([
    ["INSERT", "", /^fail {2}table .*permission denied/m],
    ["UPDATE", "", /^fail {2}table .*permission denied/m],
    ["INSERT, UPDATE", dropKey, /^fail {2}table .*primary key/m],
    ["INSERT, UPDATE", `${drop}, plants`, /^fail {2}schema .*0 of \d+; this user may not create/m],
    ["INSERT, UPDATE", "", /^ok {4}table .*can be written$/m],
  ])("what a server needs at startup is tried: %s; %s", async (rights, harm, message) => {
    const { url, query, urlFor } = await openDatabase(sharedServer.current);
    await seed(url, []);
    const own = await urlFor(`SELECT, ${rights}`);
    await query(harm);
    const { code, stdout } = await run(own);
    expect(stdout).toMatch(message);
    expect(code).toBe(message.source.startsWith("^ok") ? 0 : 1);
  });

  test("a server that is not there fails", async () => {
    const { code, stdout, stderr } = await run("postgres://u:secret@127.0.0.1:1/d");
    expect([code, stderr]).toEqual([1, "plant-store: failed checks: 1\n"]);
    expect(stdout).toMatch(/^fail {2}connection .*cannot connect to 127\.0\.0\.1:1/m);
    expect(stdout).not.toContain("secret");
  });
});
