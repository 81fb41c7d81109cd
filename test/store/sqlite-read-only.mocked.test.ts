import { join } from "node:path";
import type { DatabaseSyncOptions } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { temporaryFolder } from "./temporary.ts";

const forReading = vi.hoisted(() => ({ path: "" }));

// A system that refuses to open a file for writing, for a moment: SQLite then opens it for
// reading alone, without a word.
vi.mock(import("../../src/store/sqlite/driver.ts"), async (original) => {
  const driver = await original();
  class Database extends driver.Database {
    constructor(path: string, options?: DatabaseSyncOptions) {
      super(path, { ...options, readOnly: path === forReading.path });
    }
  }
  return { ...driver, Database };
});

async function createDatabase(): Promise<string> {
  const path = join(await temporaryFolder(), "plants.db");
  openDatabase(path, 100).close();
  return path;
}

test("a database that SQLite could open for reading alone is refused when it opens", async () => {
  const path = await createDatabase();
  forReading.path = path;
  expect(() => openDatabase(path, 100)).toThrow(
    expect.objectContaining({ code: "inaccessible", message: expect.stringMatching(/read-only/) }),
  );
});

test("another that may be written opens beside it", async () => {
  const path = await createDatabase();
  forReading.path = await createDatabase();
  openDatabase(path, 100).close();
});
