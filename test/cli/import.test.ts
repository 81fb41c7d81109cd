/** `plant-store import` against a server that runs, and `export` of what it has made. */
import { execFileSync, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readdirSync, readSync, truncateSync } from "node:fs";
import { lstat, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import type { NewPlant } from "../../src/plant.ts";
import { realPath } from "../../src/store/sqlite/files.ts";
import { formatNames, formats } from "../../src/transfer/format.ts";
import { plantOf } from "../store/plant-of.ts";
import { exactPlants } from "../store/reader-places.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { type ChildOptions, spawnChild, started } from "../support/child.ts";
import { lockStore } from "../support/locked-store.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken, openTestServer, type TestServerOptions } from "../support/test-server.ts";

const env = { PLANT_STORE_TOKEN: `${knownToken}\n` };

const ndjsonOf = (plants: readonly NewPlant[]) => plants.map(formats.ndjson.write).join("");

/** Past 2^53, where a double would make one of two. */
const many = Array.from({ length: 2000 }, (_, index) => plantOf(2n ** 53n + BigInt(index)));

const storedForms = (plants: readonly NewPlant[]) => plants.map(storedForm);

const onUnix = test.skipIf(process.platform === "win32");
const onLinux = test.skipIf(process.platform !== "linux");

/** Nothing but the store tells how far an import is. */
const polling = { interval: 10 };

function countIn(database: string): number {
  using db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  return Number(db.prepare("SELECT count(*) AS count FROM plants").get()?.["count"]);
}

/** A server, a folder, and a file in it. */
async function prepare(name: string, content: string | Uint8Array, options?: TestServerOptions) {
  const server = await openTestServer(options);
  onTestFinished(() => server.close());
  const folder = await temporaryFolder();
  const file = join(folder, name);
  await writeFile(file, content);
  const args = (from: string, flags: readonly string[]) => [
    ...["import", from, "--url", server.url, ...flags],
  ];
  return {
    ...{ server, folder, file, args },
    run: (...flags: readonly string[]) => runInProcess(args(file, flags), env),
    runWith: (variables: Readonly<Record<string, string>>, ...flags: readonly string[]) =>
      runInProcess(args(file, flags), variables),
    runOf: (other: string) => runInProcess(args(other, []), env),
    /** As a process. */
    spawn: () => spawnChild(args(file, []), { cwd: folder, env }),
    /** As a process, from standard input. */
    pipe: (stdin: NonNullable<ChildOptions["stdin"]>, ...flags: readonly string[]) =>
      spawnChild(args("-", ["--format", "ndjson", ...flags]), { cwd: folder, env, stdin }),
    stored: () => readStoredPlants(server.database),
  };
}

test.each(formatNames)("%s of plants comes to a server, and back byte by byte", async (name) => {
  const { header, write } = formats[name];
  const content = header + exactPlants.map(write).join("");
  const at = await prepare(`plants.${name}`, content);
  const stdout = `imported ${at.file} to ${at.server.url}: stored 11 rows, rejected none\n`;
  expect(await at.run()).toEqual({ code: 0, stdout, stderr: "" });
  const store = `sqlite:${at.server.database}`;
  const exported = (...to: readonly string[]) => runInProcess(["export", "--store", store, ...to]);
  expect(await exported("--format", name)).toEqual({ code: 0, stdout: content, stderr: "" });
  const copy = join(at.folder, `copy.${name}`);
  expect(await exported("-o", copy)).toMatchObject({ code: 0 });
  expect(await readFile(copy, "utf8")).toBe(content);
  const zipped = `${copy}.gz`;
  for (const flags of [[], ["--force"]]) {
    expect(await exported("-o", zipped, ...flags)).toMatchObject({ code: 0 });
    expect(String(gunzipSync(await readFile(zipped)))).toBe(content);
  }
  for (const file of [at.file, zipped]) expect(await at.runOf(file)).toMatchObject({ code: 0 });
  expect(await readdir(at.folder)).toEqual([`copy.${name}`, `copy.${name}.gz`, `plants.${name}`]);
});

test("an import that was killed ends with exactly its plants when it is run again", async () => {
  const at = await prepare("plants.ndjson", ndjsonOf(many));
  await using child = at.spawn();
  await expect.poll(() => countIn(at.server.database), polling).toBeGreaterThan(200);
  child.process.kill("SIGKILL");
  expect(await within("its end", child.exited)).toEqual({ code: null, signal: "SIGKILL" });
  expect(countIn(at.server.database)).toBeLessThan(many.length);
  expect(await at.run()).toMatchObject({ code: 0 });
  expect(at.stored()).toEqual(storedForms(many));
});

test("rows that are rejected go to a file with their lines, and the others are stored", async () => {
  const content = 'id,name,tag\n1,a,\n2,b\n3,"c\nd",\n1,other,\n4,"a\0b",\n5,e,""\n';
  const at = await prepare("plants.csv", content);
  const rejects = `${at.file}.rejects.ndjson`;
  const stderr = `plant-store: rejected 3 of 6 rows, see ${rejects}; stored the other 3\n`;
  expect(await at.run()).toEqual({ code: 3, stdout: "", stderr });
  const lines = (await readFile(rejects, "utf8")).trimEnd().split("\n");
  const taken = expect.stringMatching(/^another plant has this id .choose another id/);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { line: 3, reason: expect.stringContaining("2 fields in place of 3"), row: "2,b" },
    { line: 6, reason: taken, row: { id: 1, name: "other" } },
    { line: 7, reason: "name must not contain U+0000", row: { id: "4", name: "a\0b" } },
  ]);
  expect((await stat(rejects)).mode & 0o777).toBe(0o600);
  expect(at.stored().map(({ id }) => id)).toEqual([1n, 3n, 5n]);
  // Somebody may have begun to fix them.
  expect(await at.run()).toMatchObject({ code: 1, stderr: expect.stringContaining("--force") });
  expect(await readdir(at.folder)).toEqual(["plants.csv", "plants.csv.rejects.ndjson"]);
  await writeFile(at.file, "id,name\n1,a\n");
  // Nothing takes their place.
  expect(await at.runWith({ PLANT_STORE_TOKEN: "no" }, "--force")).toMatchObject({ code: 1 });
  expect((await at.run("--force", "--dry-run")).stdout).toMatch(/^checked .+: would store 1 row, /);
  expect((await readFile(rejects, "utf8")).trimEnd().split("\n")).toEqual(lines);
  await rename(rejects, `${at.file}.old`);
  await symlink(at.file, rejects);
  expect(await at.run("--force")).toMatchObject({ code: 2 }); // it would replace what it reads
  await rm(rejects);
  await symlink(`${at.file}.old`, rejects);
  await writeFile(at.file, "id,name\n2\n");
  expect(await at.run("--force")).toMatchObject({ code: 3 });
  expect(await readFile(`${at.file}.old`, "utf8")).toContain("1 fields in place of 2");
  await writeFile(at.file, "id,name\n1,a\n");
  expect(await at.run("--force")).toMatchObject({ code: 0 });
  expect(await readdir(at.folder)).toEqual(["plants.csv", "plants.csv.rejects.ndjson"]);
  expect((await lstat(rejects)).isSymbolicLink()).toBe(true);
});

test("rejected rows can be imported once they are fixed, with all digits", async () => {
  const lines = [
    '{"id": 9007199254740991, "nme": "a", "ta\\\\": 1.50}',
    '{"id": 9007199254740993, "nme": "b", "ta\\u0067": "t"}',
    '{"id": 9007199254740995, "name": "b"',
    '{"id": 9007199254740997}',
    '{"id": 9007199254740999, "name": "c"}',
  ];
  const at = await prepare("plants.ndjson", `${lines.join("\n")}\n`);
  expect(await at.run()).toMatchObject({ code: 3 });
  const rejects = `${at.file}.rejects.ndjson`;
  const text = await readFile(rejects, "utf8");
  expect(text.match(/"row":.*(?=\}$)/gm)).toEqual([
    '"row":{"id":9007199254740991,"nme":"a","ta\\\\":1.50}',
    '"row":{"id":9007199254740993,"nme":"b","tag":"t"}',
    '"row":"{\\"id\\": 9007199254740995, \\"name\\": \\"b\\""',
    '"row":{"id":9007199254740997}',
  ]);
  // One is fixed; the others are rejected as before.
  await writeFile(rejects, text.replace('"nme":"b"', '"name":"b"'));
  const again = await at.runOf(rejects);
  expect(again).toMatchObject({ code: 3, stderr: expect.stringContaining("rejected 3 of 4 rows") });
  expect(at.stored().map(({ id }) => id)).toEqual([9007199254740993n, 9007199254740999n]);
  const left = await readFile(`${rejects}.rejects.ndjson`, "utf8");
  expect(left.split("\n").map((line) => line.includes("must be an object"))).toContain(true);
  expect(left).toContain('"reason":"name is required","row":{"id":9007199254740997}}');
});

test("a rejected row that is no object is rejected again, and the rest is read", async () => {
  const rows = ["1.0", "12345678901234567", "[1]", "null", '"a"', "true"];
  const lines = rows.map((row) => `{"line":1,"reason":"no","row":${row}}\n`);
  const at = await prepare("plants.ndjson", `${lines.join("")}${ndjsonOf([plantOf(2n)])}`);
  expect(await at.run()).toMatchObject({ code: 3, stderr: expect.stringContaining("6 of 7 rows") });
  expect(at.stored()).toEqual(storedForms([plantOf(2n)]));
});

const member = gzipSync("id,name\n1,a\n");
/** More than one read of a file. */
const zeros = Buffer.alloc(100_000);

test.each(["plants.ndjson.gz", "plants.ndjson"])("gzip is read by bytes, as %s", async (name) => {
  // Two members, as of files that were joined, and padding, as of a tape.
  const members = [many.slice(0, 50), many.slice(50, 90)].map((part) => gzipSync(ndjsonOf(part)));
  const at = await prepare(name, Buffer.concat([...members, zeros]));
  expect(await at.run()).toMatchObject({ code: 0 });
  expect(at.stored()).toEqual(storedForms(many.slice(0, 90)));
});

test.each([
  ["cut.csv.gz", member.subarray(0, -9), /gzip data is damaged: .*fix the file, then run /],
  ["empty.csv.gz", "", /empty\.csv\.gz is empty, not gzip/],
  ["zeros.csv.gz", Buffer.concat([member, zeros, member]), /gzip data is followed by .*run the s/],
  ["odd.csv", "1,a,\n", /\S+odd\.csv: the first line of CSV must name.*stored 0 rows/],
])("%s cannot be read to its end, and it says how far it came", async (name, content, message) => {
  const at = await prepare(name, content);
  const { stderr, ...result } = await at.run();
  expect(result).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^plant-store: [^\n]+\n$/);
  expect(stderr).toMatch(message);
  expect((await at.run("--dry-run")).stderr).toBe(stderr.replace("; stored", "; would store"));
});

onLinux.each([-5, 5])("a file that grows by %d bytes meanwhile ends it", async (growth) => {
  const rows = many.slice(0, 50).map(({ id }) => `${"x".repeat(1e5)},${id}\n`); // 1 MiB is read ahead
  const at = await prepare("plants.csv", `name,id\n${rows.join("")}`);
  const { size } = await stat(at.file);
  using lock = lockStore(at.server.database);
  const running = at.run("--concurrency", "1");
  const files = () => readdirSync("/proc/self/fd").map((fd) => realPath(`/proc/self/fd/${fd}`));
  await expect.poll(files, polling).toContain(at.file);
  truncateSync(at.file, size + growth);
  lock.release();
  const stderr = expect.stringContaining(`read, from ${size} to ${size + growth} bytes; stored `);
  expect(await within("its end", running)).toMatchObject({ code: 1, stderr });
});

onUnix.each([
  [0, "unused"],
  [2, "rows"], // it would replace what it reads
])("the rest of a file as standard input: exit with %i, rejects in %s", async (code, rejects) => {
  const first = '{"line":1,"reason":"no plant"}\n';
  const at = await prepare("rows", `${first}${ndjsonOf([plantOf(1n)])}`);
  const stdin = openSync(at.file, "r");
  readSync(stdin, Buffer.alloc(first.length));
  const flags = ["--format", "ndjson", "--force", "--rejects", join(at.folder, rejects)];
  const options: SpawnOptions = { env: { ...process.env, ...env }, stdio: [stdin, "ignore", 2] };
  const ended = once(spawn(process.execPath, [started, ...at.args("-", flags)], options), "exit");
  expect(await within("its end", ended)).toEqual([code, null]);
  expect([at.stored().length, await readdir(at.folder)]).toEqual([code === 0 ? 1 : 0, ["rows"]]);
});

test("a dry run checks each row, and sends none", async () => {
  const at = await prepare("plants.csv", 'id,name\n1,a\n2,"a\0b"\n');
  const stderr = expect.stringMatching(/rejected 1 of 2 rows.*would store the other 1/);
  const least = ["--retry-for", "0", "--concurrency", "1"];
  expect(await at.runWith({}, "--dry-run", ...least)).toMatchObject({ code: 3, stderr });
  expect(await readFile(`${at.file}.rejects.ndjson`, "utf8")).toContain("U+0000");
  expect(at.stored()).toEqual([]);
});

test("standard input is read, and its rejected rows go to standard error", async () => {
  const at = await prepare("unused", "");
  await using child = at.pipe(`{"id":1}\n${ndjsonOf([plantOf(2n)])}`);
  expect(await within("its end", child.exited)).toMatchObject({ code: 3 });
  expect(child.stderr.text).toBe(
    '{"line":1,"reason":"name is required","row":{"id":1}}\n' +
      "plant-store: rejected 1 of 2 rows, see above; stored the other 1\n",
  );
  expect(at.stored()).toEqual(storedForms([plantOf(2n)]));
  await using other = at.pipe("no plant\n", "--rejects", "-");
  expect(await within("its end", other.exited)).toMatchObject({ code: 2 });
  expect(await readdir(at.folder)).toEqual(["unused"]);
});

// As the shell's `<(…)`: no file can be made beside /dev/fd/63.
onUnix("and so do those of a named pipe, which a signal ends, too", async () => {
  const at = await prepare("unused", "");
  const pipe = join(at.folder, "rows.ndjson");
  execFileSync("mkfifo", [pipe]);
  const writer = spawn("sh", ["-c", 'exec cat > "$0"', pipe]);
  onTestFinished(() => void writer.kill());
  writer.stdin.write(`no plant\n${ndjsonOf([plantOf(2n)])}`);
  const running = at.runOf(pipe);
  await expect.poll(() => countIn(at.server.database), polling).toBe(1);
  process.emit("SIGINT"); // the pipe may bring more
  const stderr = expect.stringMatching(/^\{"line":1,.*\n.*interrupted; stored 1 row, rejected 1/);
  expect(await within("its end", running)).toMatchObject({ code: 1, stderr });
  expect(await readdir(at.folder)).toEqual(["rows.ndjson", "unused"]);
});

test("a file that takes the name of the rejects meanwhile stays", async () => {
  const at = await prepare("unused", "");
  await using child = at.pipe("open", "--rejects", "unused.ndjson");
  child.process.stdin?.write(ndjsonOf([plantOf(1n)]));
  await expect.poll(() => countIn(at.server.database), polling).toBe(1);
  await writeFile(join(at.folder, "unused.ndjson"), "mine");
  child.process.stdin?.end();
  expect(await within("its end", child.exited)).toMatchObject({ code: 0 });
  expect(await readdir(at.folder)).toEqual(["unused", "unused.ndjson"]);
});

onLinux("rejects that cannot be written end it, though standard input may bring more", async () => {
  const at = await prepare("unused", "");
  await using child = at.pipe("open", "--rejects", "/dev/full");
  child.process.stdin?.write("no plant\n");
  expect(await within("its end", child.exited)).toEqual({ code: 1, signal: null });
  expect(child.stderr.text).toMatch(/cannot write rejected rows to \/dev\/full/);
});

test("a signal ends it in order, and it says how far it came", async () => {
  const at = await prepare("unused", "");
  // Its input stays open: it waits for more.
  await using child = at.pipe("open");
  child.process.stdin?.write(ndjsonOf([plantOf(1n), plantOf(2n)]));
  await expect.poll(() => countIn(at.server.database), polling).toBe(2);
  child.process.kill("SIGINT");
  expect(await within("its end", child.exited)).toEqual({ code: 1, signal: null });
  expect(child.stderr.text).toMatch(
    /^plant-store: interrupted; stored 2 rows, rejected 0, finished all rows before line 3; [^\n]+\n$/,
  );
});

test("it waits for a server that is away, and goes on when it is back", async () => {
  const database = join(await temporaryFolder(), "plants.db");
  const at = await prepare("plants.ndjson", ndjsonOf(many), { database });
  await using child = at.spawn();
  await expect.poll(() => countIn(database), polling).toBeGreaterThan(100);
  await at.server.close();
  expect(countIn(database)).toBeLessThan(many.length);
  await using _again = await openTestServer({ database, port: at.server.port });
  expect(await within("its end", child.exited)).toEqual({ code: 0, signal: null });
  expect(readStoredPlants(database)).toEqual(storedForms(many));
});

describe("a token", () => {
  test("that a server does not know ends the import at once", async () => {
    const at = await prepare("plants.ndjson", `${ndjsonOf([plantOf(1n)])}a\nb\n${ndjsonOf(many)}`);
    const { code, stderr } = await at.runWith({ PLANT_STORE_TOKEN: "not-the-token" });
    expect(code).toBe(1);
    // Rows that are rejected then all come at once.
    const rejects = await readFile(`${at.file}.rejects.ndjson`, "utf8");
    expect(rejects.match(/"line":\d/g)).toEqual(['"line":2', '"line":3']);
    expect(stderr).toMatch(
      /^plant-store: http:[^ ]+: the server rejects the token: .+ 0 rows, rejected 2/,
    );
    expect(stderr).not.toContain("not-the-token");
    expect(at.stored()).toEqual([]);
  });

  test.each([
    ["none", {}, "", /there is no token/],
    ["one of spaces", { PLANT_STORE_TOKEN: "a b" }, "", /PLANT_STORE_TOKEN contains no token/],
    ["a file of a server", {}, "create me aa 2026-01-01T00:00:00.000Z\n", /a server's token file/],
    ["a file of something else", {}, "secret stuff\n", /must contain one token and nothing else/],
  ])("of %s is wrong usage, and is not shown", async (_, variables, content, message) => {
    const tokenFile = join(await temporaryFolder(), "token");
    await writeFile(tokenFile, content);
    const flags = content === "" ? [] : ["--bearer-token-file", tokenFile];
    const { code, stderr } = await runInProcess(["import", "a.csv", ...flags], variables);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/secret|a b/);
  });
});

test.skipIf(!hasOpenssl)("TLS is spoken with a server whose CA is trusted alone", async () => {
  const tls = createCertificate(await temporaryFolder(), "server");
  const at = await prepare("plants.ndjson", ndjsonOf([plantOf(1n)]), { tls });
  const refusal = /cannot make a trusted TLS connection .*DEPTH_ZERO_SELF_SIGNED_CERT.*--ca/;
  expect(await at.run()).toMatchObject({ code: 1, stderr: expect.stringMatching(refusal) });
  expect((await at.run("--ca", tls.keyFile)).stderr).toMatch(/key has no PEM certificate\n$/);
  expect(await at.run("--ca", tls.certFile)).toMatchObject({ code: 0 });
  expect(at.stored()).toHaveLength(1);
});

test("a server with a base path is reached by it alone, also with a token of a file", async () => {
  const at = await prepare("plants.ndjson", ndjsonOf([plantOf(1n)]), { basePath: "/api" });
  const stderr = expect.stringContaining("if it has a base path");
  expect(await at.run("--url", new URL(at.server.url).origin)).toMatchObject({ code: 1, stderr });
  const tokenFile = join(at.folder, "token");
  await writeFile(tokenFile, `${knownToken}\n`);
  expect(await at.runWith({}, "--bearer-token-file", tokenFile)).toMatchObject({ code: 0 });
});

test.each([
  ["plants.csv", 2, /--rejects/],
  ["none/x", 1, /cannot write .*x: no such file or directory/],
])("rejected rows in %s exit with %i", async (rejects, code, message) => {
  const at = await prepare("plants.csv", "id,name\nx,a\n");
  const stderr = expect.stringMatching(message);
  expect(await at.run("--rejects", join(at.folder, rejects))).toMatchObject({ code, stderr });
  expect(await readFile(at.file, "utf8")).toBe("id,name\nx,a\n");
});
