import { fsyncSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { temporaryFolder } from "./temporary.ts";

// SQLite's own syncs are out of sight here; ours are not.
vi.mock(import("node:fs"), async (original) => {
  const fs = await original();
  return { ...fs, openSync: vi.fn(fs.openSync), fsyncSync: vi.fn(fs.fsyncSync) };
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
  "the folders of a new database are synced, up to one that was there before",
  async () => {
    const folder = await temporaryFolder();
    const path = join(folder, "some", "data", "plants.db");
    openDatabase(path, 100).close();
    expect(syncedPaths().slice(0, 3)).toEqual([dirname(path), join(folder, "some"), folder]);

    // An earlier start may have been killed between making and syncing them.
    vi.mocked(fsyncSync).mockClear();
    openDatabase(path, 100).close();
    expect(syncedPaths().slice(0, 3)).toEqual([dirname(path), join(folder, "some"), folder]);
  },
);

test("a folder that cannot be synced stops the start", async () => {
  const path = join(await temporaryFolder(), "plants.db");
  vi.mocked(fsyncSync).mockImplementationOnce(() => {
    throw Object.assign(new Error("i/o error"), { code: "EIO" });
  });
  expect(() => openDatabase(path, 100)).toThrow(expect.objectContaining({ code: "inaccessible" }));
});
