import {
  copyFileSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { readValue } from "../../src/store/sqlite/driver.ts";
import { valuesOf } from "../../src/store/sqlite/messages.ts";
import { Writer } from "../../src/store/sqlite/writer.ts";
import { plantOf } from "./plant-of.ts";
import { temporaryFolder } from "./temporary.ts";

// SQLite's own syncs cannot be observed here; ours can.
vi.mock(import("node:fs"), async (original) => {
  const fs = await original();
  return {
    ...fs,
    openSync: vi.fn(fs.openSync),
    fsyncSync: vi.fn(fs.fsyncSync),
    ftruncateSync: vi.fn(fs.ftruncateSync),
    writeSync: vi.fn(fs.writeSync) as unknown as typeof fs.writeSync,
  };
});

/** Paths, in the order in which they were synced. */
function syncedPaths(): string[] {
  const opens = vi.mocked(openSync).mock;
  return vi.mocked(fsyncSync).mock.calls.map(([descriptor], sync) => {
    const before = vi.mocked(fsyncSync).mock.invocationCallOrder[sync] ?? 0;
    const open = opens.results.findLastIndex(
      ({ value }, index) =>
        value === descriptor && (opens.invocationCallOrder[index] ?? Infinity) < before,
    );
    return String(opens.calls[open]?.[0]);
  });
}

test.skipIf(process.platform === "win32")(
  "the directories of a new database are synced, up to one that already existed",
  async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "some", "data", "plants.db");
    openDatabase(path, 100).close();
    expect(syncedPaths().slice(0, 3)).toEqual([dirname(path), join(folder, "some"), folder]);

    // An earlier start may have been killed between creating and syncing them.
    vi.mocked(fsyncSync).mockClear();
    openDatabase(path, 100).close();
    expect(syncedPaths().slice(0, 3)).toEqual([dirname(path), join(folder, "some"), folder]);
  },
);

test.each([
  ["at its path", (path: string) => path],
  ["behind a link", linkTo],
])("a log left by a crash is rewritten before it is trusted: %s", async (_, locate) => {
  const folder = await temporaryFolder();
  const running = openDatabase(join(folder, "plants.db"), 100);
  const rows = Array.from({ length: 400 }, (_, id) => plantOf(BigInt(id)));
  new Writer(running).write(valuesOf(rows.map((row) => ({ ...row, name: "x".repeat(5000) }))));
  const path = join(folder, "crashed.db");
  for (const file of ["", "-wal"]) copyFileSync(`${running.location()}${file}`, `${path}${file}`);
  running.close();
  const log = readFileSync(`${path}-wal`);
  // More than a single write.
  expect(log.byteLength).toBeGreaterThan(1024 * 1024);

  vi.mocked(fsyncSync).mockClear();
  vi.mocked(ftruncateSync).mockClear();
  const written: Buffer[] = [];
  vi.mocked(writeSync).mockImplementation((_, bytes, offset, length) => {
    // A write may be partial.
    const part = Math.min(Number(length), 700_000);
    written.push(
      Buffer.from((bytes as unknown as Buffer).subarray(Number(offset), Number(offset) + part)),
    );
    return part;
  });
  onTestFinished(() => void vi.mocked(writeSync).mockReset());
  const db = openDatabase(locate(path), 100);
  expect(syncedPaths()[0]).toBe(`${path}-wal`);
  expect(Buffer.concat(written).equals(log)).toBe(true);
  // A size is only written if it changes.
  const resizes = vi.mocked(ftruncateSync).mock;
  const sizes = resizes.calls.map(([, size]) => size);
  expect(sizes).toEqual([expect.not.closeTo(log.byteLength, 0), log.byteLength]);
  const [firstSync] = vi.mocked(fsyncSync).mock.invocationCallOrder;
  expect(firstSync).toBeGreaterThan(Math.max(...resizes.invocationCallOrder));
  expect(readValue(db, "SELECT count(*) FROM plants")).toBe(400);
  db.close();
});

function linkTo(path: string): string {
  const link = `${path}.link`;
  symlinkSync(path, link);
  return link;
}

test("startup fails if a directory cannot be synced", async () => {
  const path = join(await temporaryFolder(), "plants.db");
  vi.mocked(fsyncSync).mockImplementationOnce(() => {
    throw Object.assign(new Error("i/o error"), { code: "EIO" });
  });
  expect(() => openDatabase(path, 100)).toThrow(expect.objectContaining({ code: "inaccessible" }));
});
