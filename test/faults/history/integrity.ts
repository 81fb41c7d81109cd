import { DatabaseSync } from "node:sqlite";
import { readRows } from "../../support/sqlite-rows.ts";

/** Problems that SQLite itself finds in its file; empty if there are none. */
export function checkSqlite(path: string): readonly string[] {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  const rows = readRows<{ integrity_check: string }>(db, "PRAGMA integrity_check");
  return rows.map((row) => row.integrity_check).filter((line) => line !== "ok");
}
