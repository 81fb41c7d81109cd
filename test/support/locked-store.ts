import { DatabaseSync } from "node:sqlite";

/** A store that cannot write for as long as this lives: like a disk that stalls. */
export interface StoreLock extends Disposable {
  /** Lets the writes go on. */
  release(): void;
}

/**
 * Takes SQLite's write lock from another connection. A commit of the server
 * waits for it, for up to 5 seconds.
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
