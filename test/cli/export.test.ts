/** `plant-store export`: a store as a file, whole or not at all. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, open, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../packages/gateway/test/support/free-port.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { formats } from "../../src/transfer/format.ts";
import { plantOf } from "../store/plant-of.ts";
import { seed } from "../store/reader-places.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { environmentWithoutSettings, nodeOptions, spawnChild, started } from "../support/child.ts";
import { runInProcess } from "../support/run-in-process.ts";

const onUnix = test.skipIf(process.platform === "win32");

/** More than two pages. */
const many = Array.from({ length: 5000 }, (_, index) => plantOf(2n ** 53n + BigInt(index)));

async function storeOf(plants: typeof many) {
  const folder = await temporaryFolder();
  const database = join(folder, "plants.db");
  const store = `sqlite:${database}`;
  await seed(store, plants);
  const run = (...args: string[]) => runInProcess(["export", "--store", store, ...args]);
  return { folder, database, store, run };
}

const env = { ...environmentWithoutSettings(), NODE_OPTIONS: nodeOptions({}) };

test("replaces a file once it is whole, for its owner alone, and leaves nothing else", async () => {
  const { folder, run } = await storeOf(many);
  const file = join(folder, "out.csv");
  await writeFile(file, '{"id":1,"name":"old"}\n');
  await chmod(file, 0o644);
  expect(await run("-o", file, "--force")).toEqual({ code: 0, stdout: "", stderr: "" });
  const lines = (await readFile(file, "utf8")).split("\r\n");
  expect(lines[0]).toBe("id,name,tag");
  expect(lines[1]).toBe("9007199254740992,plant 9007199254740992,tag 9007199254740992");
  expect(lines).toHaveLength(5002);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readdir(folder)).filter((name) => name.includes("out"))).toEqual(["out.csv"]);
});

test.each(["SIGINT", "SIGHUP"] as const)("%s ends it, and leaves no file", async (signal) => {
  const { folder, run } = await storeOf(many);
  const running = run("-o", join(folder, "out.csv"));
  while (process.listenerCount("SIGINT") === 0) await setImmediate();
  process.emit(signal);
  expect(await running).toMatchObject({ code: 1, stderr: "plant-store: interrupted\n" });
  expect((await readdir(folder)).filter((name) => name.includes("out"))).toEqual([]);
});

test("leaves an old file as it was when a plant cannot be read", async () => {
  const { folder, database, run } = await storeOf(many);
  using db = new DatabaseSync(database, { timeout: 5000 });
  db.exec("UPDATE plants SET name = CAST(x'ff' AS TEXT) WHERE id = (SELECT max(id) FROM plants)");
  const file = join(folder, "out.csv");
  await writeFile(file, "id,name,tag\n1,old,\n");
  const stderr = expect.stringContaining("is not UTF-8");
  expect(await run("-o", file, "--force")).toMatchObject({ code: 1, stderr });
  expect(await readFile(file, "utf8")).toBe("id,name,tag\n1,old,\n");
  expect((await readdir(folder)).filter((name) => name.includes("out"))).toEqual(["out.csv"]);
});

onUnix("writes to what is not a file as it is", async () => {
  const { store, run } = await storeOf([plantOf(1n)]);
  expect(await run("-o", "/dev/null")).toMatchObject({ code: 0 });
  expect((await stat("/dev/null")).isCharacterDevice()).toBe(true);
  const args = [process.execPath, started, "export", "--store", store, "-o", "/dev/stdout"];
  const piped = spawnSync("/bin/sh", ["-c", '"$0" "$@" | cat', ...args], { env });
  expect(String(piped.stdout) + piped.stderr).toBe(formats.ndjson.write(plantOf(1n)));
});

onUnix.each([
  ["standard output", []],
  ["a named pipe", ["-o", "pipe"]],
])("a signal ends it though nobody reads %s", async (_, to) => {
  const { folder, store } = await storeOf(many);
  const path = join(folder, "pipe");
  spawnSync("mkfifo", [path]);
  await using pipe = await open(path, "r+");
  const child = spawn(process.execPath, [started, "export", "--store", store, ...to], {
    ...{ cwd: folder, env },
    stdio: ["ignore", pipe.fd, "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await pipe.read(Buffer.alloc(1));
  child.kill("SIGTERM");
  expect(await within("its end", once(child, "exit"))).toEqual([null, "SIGTERM"]);
});

const reading = ["export -o out.csv", "mcp", "serve --port 0"];

onUnix.each(reading)("a signal ends %s while its database does not answer", async (line) => {
  const database = createServer((socket) => socket.resume());
  await using at = await listen(database);
  const args = [...line.split(" "), "--store", `postgres://u@127.0.0.1:${at.port}/d`];
  await using child = spawnChild(args, { cwd: await temporaryFolder() });
  await once(database, "connection");
  child.process.kill("SIGTERM");
  expect(await within("its end", child.exited)).toMatchObject({ signal: "SIGTERM" });
});

onUnix.each([[[]], [["--force"]]])("keeps a link to nothing yet, with %j", async (flags) => {
  const { folder, run } = await storeOf([plantOf(1n)]);
  await symlink("made", join(folder, "link.csv"));
  const to = ["-o", join(folder, "link.csv"), "--format", "ndjson", ...flags];
  expect(await run(...to)).toMatchObject({ code: 0 });
  expect(await readFile(join(folder, "made"), "utf8")).toBe(formats.ndjson.write(plantOf(1n)));
  expect((await lstat(join(folder, "link.csv"))).isSymbolicLink()).toBe(true);
});

test.skipIf(process.platform !== "linux").each([
  ["export --store sqlite:plants.db > out", "plant-store: cannot write -: file too large\n"],
  ["import - --format ndjson --dry-run < rows 2> out", ""],
])("%s fails on a disk that takes only a part", async (line, message) => {
  const { folder } = await storeOf(many.slice(0, 1000));
  await writeFile(join(folder, "rows"), `{"nme":"${"x".repeat(100_000)}"}\n`);
  // 64 KiB: more than the index of the log, and less than the rows, which are written at once.
  const script = `trap "" XFSZ; ulimit -f 128; exec "$0" "$1" ${line}`;
  const args = ["-c", script, process.execPath, started];
  const { status, stderr } = spawnSync("/bin/sh", args, { cwd: folder, env, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 1, stderr: message });
});

test("ends in silence when whoever reads it has enough", async () => {
  const { folder, store } = await storeOf(many);
  await using child = spawnChild(["export", "--store", store], { cwd: folder });
  child.process.stdout?.destroy();
  expect(await within("its end", child.exited)).toEqual({ code: 0, signal: null });
  expect(child.stderr.text).toBe("");
});
