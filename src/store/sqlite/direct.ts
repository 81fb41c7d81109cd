/** What works on a database file in this thread, for commands. Loaded together on first use. */
import { openDatabase } from "./database.ts";
import { busyTimeoutMs } from "./files.ts";

export { checkDatabase } from "./check.ts";
export { readSchemaState } from "./database.ts";
export { openSqliteReader } from "./reader.ts";

export function migrateDatabase(path: string): void {
  openDatabase(path, busyTimeoutMs).close();
}
