/**
 * The thread that owns the database. Every call into SQLite may block for as long as the disk does,
 * so none happens on the service's event loop. This thread has no event loop: it sleeps until its
 * bell rings.
 */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { StoreOpenError } from "../open-error.ts";
import { assertDurable, checkpoint, openDatabase } from "./database.ts";
import { failureCode, isPassing } from "./failure.ts";
import { watchFiles } from "./files.ts";
import type { Reply, Request, WorkerSetup } from "./messages.ts";
import { Bell } from "./queue/bell.ts";
import { QueueReader, type RowValues } from "./queue/queue-reader.ts";
import { Writer } from "./writer.ts";

/**
 * How long a probe waits for another process's lock. Short, because a probe follows a commit that
 * already waited the full time, and the commits behind the probe wait for it.
 */
const probeTimeoutMs = 250;

/**
 * How long commits may go on in a file that was deleted or replaced. Looking at a file makes the
 * next write change its times (multigrain timestamps, Linux 6.13), so a look after every commit
 * would add the inode to every sync.
 */
const filesCheckMs = 10;

interface Batch {
  readonly queue: QueueReader;
  readonly rows: readonly RowValues[];
}

function main(): void {
  const { path, busyTimeoutMs, limits, bell: bellMemory } = workerData as WorkerSetup;
  const db = openDatabase(path, busyTimeoutMs);
  const writer = new Writer(db);
  const assertFilesInPlace = watchFiles(path);
  const bell = Bell.share(bellMemory);
  let queues: QueueReader[] = [];
  /** A commit or a probe failed, and none has succeeded since. */
  let isAiling = false;
  let filesCheckedAt = Number.NEGATIVE_INFINITY;
  reply({ kind: "opened" });

  for (;;) {
    const rings = bell.rings;
    if (!followRequests()) break;
    if (!bell.isBroken && commitWaiting()) continue;
    bell.wait(rings);
  }

  /** @returns Whether to continue. */
  function followRequests(): boolean {
    for (;;) {
      const request = receiveRequest();
      switch (request?.kind) {
        case undefined:
          return true;
        case "attach":
          queues.push(new QueueReader(request.memory, request.port));
          break;
        case "inspect":
          answer(inspect);
          break;
        case "probe":
          isAiling = !answer(probe);
          if (!isAiling) checkpointWhenDue();
          break;
        case "close":
          close();
          return false;
      }
    }
  }

  /** @returns Whether there was anything to do. */
  function commitWaiting(): boolean {
    const batches = takeWaiting();
    const rows = batches.reduce((sum, batch) => sum + batch.rows.length, 0);
    const startedAt = performance.now();
    let idTaken: ReturnType<Writer["write"]> | undefined;
    let failure: unknown;
    try {
      // If all callers have left, there is nothing to write.
      if (rows > 0) idTaken = write(batches);
    } catch (error) {
      failure = error;
      for (const { queue } of batches) queue.explain(describe(error));
    }
    const durationUs = Math.round((performance.now() - startedAt) * 1000);
    const teller = batches.find((batch) => batch.rows.length > 0);
    for (const [index, batch] of batches.entries()) {
      const told = batch === teller ? rows : 0;
      batch.queue.report({ idTaken: idTaken?.[index], rows: told, durationUs });
    }
    if (failure !== undefined) commitFailed(failure);
    for (const { queue } of batches) queue.notify();
    if (failure === undefined && rows > 0) commitSucceeded();
    return batches.length > 0;
  }

  /** Takes from each queue in turn, starting with a different one each time. */
  function takeWaiting(): readonly Batch[] {
    const batches: Batch[] = [];
    const room = { rows: limits.batchRowsMax, bytes: limits.batchBytesMax, isWhole: true };
    for (const queue of queues) {
      if (queue.hasLeft) {
        queue.close();
        queues = queues.filter((other) => other !== queue);
        continue;
      }
      const rows = queue.take(room);
      if (queue.isDue) batches.push({ queue, rows });
    }
    const first = queues.shift();
    if (first !== undefined) queues.push(first);
    return batches;
  }

  function write(batches: readonly Batch[]): ReturnType<Writer["write"]> {
    const idTaken = writer.write(batches.map(({ rows }) => rows));
    const now = performance.now();
    if (now - filesCheckedAt >= filesCheckMs) {
      assertFilesInPlace();
      filesCheckedAt = now;
    }
    return idTaken;
  }

  function commitSucceeded(): void {
    if (isAiling) reply({ kind: "commit_succeeded" });
    isAiling = false;
    checkpointWhenDue();
  }

  function commitFailed(error: unknown): void {
    isAiling = true;
    if (isPassing(failureCode(error))) reply({ kind: "commit_failed", ...describe(error) });
    else breakDown(error);
  }

  /** @returns Whether the check succeeded. */
  function answer(look: () => void): boolean {
    try {
      look();
      reply({ kind: "well" });
      return true;
    } catch (error) {
      if (isPassing(failureCode(error))) reply({ kind: "unwell", ...describe(error) });
      else breakDown(error);
      return false;
    }
  }

  function inspect(): void {
    assertDurable(db);
    assertFilesInPlace();
  }

  function probe(): void {
    inspect();
    db.exec(`PRAGMA busy_timeout = ${probeTimeoutMs}`);
    try {
      writer.probe();
    } finally {
      db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    }
  }

  /**
   * If a checkpoint finds no space or is locked out, the next one catches up, because the log keeps
   * what was not copied. Any other failure is final.
   */
  function checkpointWhenDue(): void {
    try {
      writer.checkpointWhenDue();
    } catch (error) {
      if (!isPassing(failureCode(error))) breakDown(error);
    }
  }

  function breakDown(error: unknown): void {
    const failure = describe(error);
    for (const queue of queues) queue.explain(failure);
    bell.break();
    for (const queue of queues) queue.notify();
    reply({ kind: "broken", ...failure });
  }

  function close(): void {
    try {
      // Closing would also checkpoint, but without reporting errors.
      checkpoint(db, "PASSIVE");
    } catch (error) {
      if (!isPassing(failureCode(error))) reply({ kind: "broken", ...describe(error) });
    }
    db.close();
    for (const queue of queues) queue.close();
  }
}

function receiveRequest(): Request | undefined {
  return parentPort === null ? undefined : receiveMessageOnPort(parentPort)?.message;
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
