import { DatabaseSync } from "node:sqlite";

/** Blocks the writes of a store while it lives, like a stalled disk. */
export interface StoreLock extends Disposable {
  /** Lets the writes continue. */
  release(): void;
}

/**
 * Takes SQLite's write lock on another connection. A commit of the server waits for it for up to 5
 * seconds.
 */
export function lockStore(database: string): StoreLock {
  const db = new DatabaseSync(database, { timeout: 5000 });
  db.exec("BEGIN IMMEDIATE");
  const release = () => {
    // Closing rolls back.
    if (db.isOpen) db.close();
  };
  return { release, [Symbol.dispose]: release };
}
