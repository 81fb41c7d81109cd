import { DatabaseSync } from "node:sqlite";

/**
 * Blocks the writes of a store like a stalled disk, until the release: takes SQLite's write lock on
 * another connection. A commit of the server waits for it for up to 5 seconds.
 */
export function lockStore(database: string) {
  const db = new DatabaseSync(database, { timeout: 5000 });
  db.exec("BEGIN IMMEDIATE");
  const release = () => {
    // Closing rolls back.
    if (db.isOpen) db.close();
  };
  return { release, [Symbol.dispose]: release };
}
