import { copyFileSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { readValue } from "../../src/store/sqlite/driver.ts";
import { valuesOf } from "../../src/store/sqlite/messages.ts";
import { createWriter } from "../../src/store/sqlite/writer.ts";
import { plantsOf } from "./plant-of.ts";
import { temporaryFolder, temporaryPath } from "./temporary.ts";

/** What was done to files, in order. SQLite's own syncs cannot be observed here; ours can. */
const seen = vi.hoisted(() => ({
  open: new Map<number, unknown>(),
  ...{ log: [] as unknown[], written: [] as Buffer[], failure: {}, readOnly: "" },
}));

vi.mock(import("node:fs"), async (original) => {
  const fs = await original();
  const mocked = {
    ...fs,
    /** In a sandbox that hides it. */
    readFileSync(path: string, encoding: "utf8") {
      if (path.startsWith?.("/proc/")) throw new Error("hidden");
      return fs.readFileSync(path, encoding);
    },
    openSync(...args) {
      const descriptor = fs.openSync(...args);
      seen.open.set(descriptor, args[0]);
      return descriptor;
    },
    closeSync(descriptor) {
      fs.closeSync(descriptor);
      seen.open.delete(descriptor);
    },
    fsyncSync(descriptor) {
      if ("code" in seen.failure) throw Object.assign(new Error(), seen.failure);
      seen.log.push(seen.open.get(descriptor));
      fs.fsyncSync(descriptor);
    },
    ftruncateSync(descriptor, size) {
      seen.log.push(size);
      fs.ftruncateSync(descriptor, size);
    },
    writeSync(_: number, bytes: Buffer, offset: number, length: number) {
      // A write may be partial.
      const part = Math.min(length, 700_000);
      seen.written.push(Buffer.from(bytes).subarray(offset, offset + part));
      return part;
    },
  } as typeof fs;
  return { ...mocked, default: mocked };
});

// A system that refuses to open a file for writing for a while. SQLite then silently opens it
// read-only.
vi.mock(import("../../src/store/sqlite/driver.ts"), async (original) => {
  const driver = await original();
  const openFile: typeof driver.openFile = (path, options) =>
    driver.openFile(path, { ...options, readOnly: path === seen.readOnly });
  return { ...driver, openFile };
});

beforeEach(() => void Object.assign(seen, { log: [], written: [], failure: {}, readOnly: "" }));
// A store that waits for space on its disk opens its files every few seconds.
afterEach(() => expect([...seen.open.values()]).toEqual([]));

const onUnix = test.skipIf(process.platform === "win32");

onUnix.each(["new", "known", "linked"])("all folders of a %s database are synced", async (kind) => {
  const folder = await temporaryFolder();
  const path = join(folder, "some", "data", "plants.db");
  // An earlier start may have been killed between creating and syncing them.
  if (kind !== "new") openDatabase(path, 100).close();
  if (kind === "linked") symlinkSync(path, join(folder, "link"));
  seen.log = [];
  openDatabase(kind === "linked" ? join(folder, "link") : path, 100).close();
  const from = seen.log.indexOf(dirname(path));
  expect(seen.log.slice(from, from + 3)).toEqual([dirname(path), join(folder, "some"), folder]);
});

test.each(["", ".link"])("the log of a crash, at PATH%s, is rewritten first", async (suffix) => {
  const running = openDatabase(await temporaryPath(), 100);
  const name = "x".repeat(5000);
  createWriter(running).write(valuesOf(plantsOf(400).map((plant) => ({ ...plant, name }))));
  const path = join(await temporaryFolder(), "crashed.db");
  for (const file of ["", "-wal"]) copyFileSync(`${running.location()}${file}`, `${path}${file}`);
  running.close();
  symlinkSync(path, `${path}.link`);
  const log = readFileSync(`${path}-wal`);
  expect(log.byteLength).toBeGreaterThan(1024 * 1024); // more than a single write
  seen.log = [];
  const db = openDatabase(`${path}${suffix}`, 100);
  expect(Buffer.concat(seen.written).equals(log)).toBe(true);
  const another = expect.not.closeTo(log.byteLength, 0); // a size is only written if it changes
  expect(seen.log.slice(0, 3)).toEqual([another, log.byteLength, `${path}-wal`]);
  expect(readValue(db, "SELECT count(*) FROM plants")).toBe(400);
  db.close();
});

test("startup fails if a directory cannot be synced", async () => {
  seen.failure = { code: "EIO", syscall: "fsync" };
  const path = await temporaryPath();
  expect(() => openDatabase(path, 100)).toThrow(expect.objectContaining({ code: "inaccessible" }));
});

// Somebody else has created it, or a file system cannot sync directories.
test.each(["EACCES", "EINVAL"])("startup goes on if a directory answers %s", async (code) => {
  seen.failure = { code };
  openDatabase(await temporaryPath(), 100).close();
});

test("a database that SQLite could only open read-only is rejected, and no other", async () => {
  const paths = [await temporaryPath(), await temporaryPath()];
  for (const path of paths) openDatabase(path, 100).close();
  seen.readOnly = paths[0] ?? "";
  const rejected = { code: "inaccessible", message: expect.stringMatching(/read-only/) };
  expect(() => openDatabase(seen.readOnly, 100)).toThrow(expect.objectContaining(rejected));
  openDatabase(paths[1] ?? "", 100).close();
});
