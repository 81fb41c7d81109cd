/**
 * The thread that owns the database: every call into SQLite may block for as
 * long as the disk does, so none happens on the event loop of the service.
 */
import { parentPort, workerData } from "node:worker_threads";
import { StoreOpenError } from "../open-error.ts";
import type { PlantColumns } from "../plant-columns.ts";
import { assertDurable, checkpoint, openDatabase } from "./database.ts";
import { failureCode, isPassing } from "./failure.ts";
import { watchFiles } from "./files.ts";
import type { Reply, Request, WorkerSetup } from "./messages.ts";
import { Writer } from "./writer.ts";

/**
 * How long a probe waits for another process's lock. Its failure counts behind a commit that has
 * waited for the whole time, and the commits behind a probe wait for it.
 */
const probeTimeoutMs = 250;

function main(): void {
  const { path, busyTimeoutMs } = workerData as WorkerSetup;
  const db = openDatabase(path, busyTimeoutMs);
  const writer = new Writer(db);
  const assertFilesInPlace = watchFiles(path);

  parentPort?.on("message", (request: Request) => {
    switch (request.kind) {
      case "commit":
        commit(request.batch);
        break;
      case "inspect":
        answer(inspect);
        break;
      case "probe":
        if (answer(probe)) attempt(() => writer.checkpointWhenDue());
        break;
      case "close":
        close();
        break;
    }
  });
  reply({ kind: "opened" });

  function commit(batch: PlantColumns): void {
    const isDone = answer(() => {
      const taken = writer.write(batch);
      assertFilesInPlace();
      return { kind: "committed", taken };
    });
    if (isDone) attempt(() => writer.checkpointWhenDue());
  }

  function inspect(): Reply {
    assertDurable(db);
    assertFilesInPlace();
    return { kind: "well" };
  }

  function probe(): Reply {
    const reply = inspect();
    db.exec(`PRAGMA busy_timeout = ${probeTimeoutMs}`);
    try {
      writer.probe();
    } finally {
      db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    }
    return reply;
  }

  function close(): void {
    // Closing would checkpoint as well, but without a word about errors.
    attempt(() => checkpoint(db, "PASSIVE"));
    db.close();
    parentPort?.close();
  }
}

/** @returns Whether the work was done. */
function answer(work: () => Reply): boolean {
  try {
    reply(work());
    return true;
  } catch (error) {
    const kind = isPassing(failureCode(error)) ? "rolled_back" : "broken";
    reply({ kind, ...describe(error) });
    return false;
  }
}

/**
 * For checkpoints. One that finds no room, or a lock, is made up for by the
 * next, as the log keeps what it did not copy; any other failure is final.
 */
function attempt(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isPassing(failureCode(error))) reply({ kind: "broken", ...describe(error) });
  }
}

function describe(error: unknown): { code: string; message: string } {
  return {
    code: failureCode(error),
    message: error instanceof Error ? error.message : String(error),
  };
}

function reply(message: Reply): void {
  parentPort?.postMessage(message);
}

try {
  main();
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  reply({ kind: "refused", code: error.code, message: error.message });
}
