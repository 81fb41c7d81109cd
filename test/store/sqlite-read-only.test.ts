import { join } from "node:path";
import type Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { temporaryFolder } from "./temporary.ts";

const forReading = vi.hoisted(() => ({ path: "" }));

// A system that refuses to open a file for writing, for a moment: SQLite then opens it for
// reading alone, without a word.
vi.mock(import("better-sqlite3"), async (original) => {
  const { default: Driver } = await original();
  class Stub extends Driver {
    constructor(path: string, options: Database.Options) {
      super(path, { ...options, readonly: path === forReading.path });
    }
  }
  return { default: Stub as unknown as typeof Driver };
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
