import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { afterAll, expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../../packages/kit/test/support/temporary-folder.ts";

export { temporaryFolder };

/** Where there is no database yet. */
export async function temporaryPath(): Promise<string> {
  return join(await temporaryFolder(), "plants.db");
}

/** The connection of another program, closed at the end of the test. */
export function openBeside(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 5000 });
  onTestFinished(() => {
    if (db.isOpen) db.close();
  });
  return db;
}

/** Watches the threads that a file starts. None may be left at its end. */
export function watchWorkers(): { last(): Worker } {
  const living = new Set<Worker>();
  const onWorker = (worker: Worker) => {
    living.add(worker);
    worker.once("exit", () => living.delete(worker));
  };
  process.on("worker", onWorker);
  afterAll(() => {
    process.off("worker", onWorker);
    expect(living.size, "worker threads left running").toBe(0);
  });
  return {
    last() {
      const worker = [...living].at(-1);
      if (worker === undefined) throw new Error("no worker thread runs");
      return worker;
    },
  };
}
