import type { DatabaseSyncOptions } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { temporaryPath } from "./temporary.ts";

const forReading = vi.hoisted(() => ({ path: "" }));

// A system that temporarily refuses to open a file for writing. SQLite then silently opens it
// read-only.
vi.mock(import("../../src/store/sqlite/driver.ts"), async (original) => {
  const driver = await original();
  const openFile = (path: string, options: DatabaseSyncOptions) =>
    driver.openFile(path, { ...options, readOnly: path === forReading.path });
  return { ...driver, openFile };
});

async function createDatabase(): Promise<string> {
  const path = await temporaryPath();
  openDatabase(path, 100).close();
  return path;
}

test("a database that SQLite could only open read-only is rejected", async () => {
  const path = await createDatabase();
  forReading.path = path;
  expect(() => openDatabase(path, 100)).toThrow(
    expect.objectContaining({ code: "inaccessible", message: expect.stringMatching(/read-only/) }),
  );
});

test("another, writable one can be opened at the same time", async () => {
  const path = await createDatabase();
  forReading.path = await createDatabase();
  openDatabase(path, 100).close();
});
