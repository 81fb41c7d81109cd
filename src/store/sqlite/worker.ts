/**
 * The thread that owns the database: every call into SQLite may block for as long as the disk does.
 * It has no event loop, and sleeps until its bell rings.
 */
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from "node:worker_threads";
import { StoreOpenError } from "../open-error.ts";
import { checkpoint, openDatabase, openError, openForReading } from "./database.ts";
import { type Database, hasRoom, readValue } from "./driver.ts";
import { describe, failureCode, isFull, isPassing, primaryCode } from "./failure.ts";
import { fileId, logPath, watchFiles } from "./files.ts";
import type { Failure, Reply, Request, Start, Unstored, Value, WorkerSetup } from "./messages.ts";
import { createWriter } from "./writer.ts";

/** On a full disk, one page may fit where no plant does: a plant changes up to four, and more with long texts. */
const pagesOnFullDisk = 8;

/** After a commit has waited in vain. Short: commits and probes wait for each other. */
const lockedTimeoutMs = 50;

/**
 * How long commits may go on in a file that was deleted or replaced. A look after every commit
 * would add the inode to every sync: it makes the next write change its times (Linux 6.13).
 */
const filesCheckMs = 10;

const port = parentPort as MessagePort;

type Opened = ReturnType<typeof openAll>;

function main(): void {
  const { path, busyTimeoutMs, bell } = workerData as WorkerSetup;
  let opened: Opened | undefined;
  /** While a full disk cannot be opened, it may be unmounted: a new file would lack all plants. */
  const assertFileInPlace = watchFiles(fileId(path) === undefined ? [] : [path]);
  let filesCheckedAt = Number.NEGATIVE_INFINITY;
  let isBroken = false;
  let waitsMs = busyTimeoutMs;
  let wasFull = false;
  /** Perhaps without a database, for now. */
  let isServing = false;
  reply({ kind: "opened", failure: begin() });
  isServing = true;

  for (;;) {
    const rings = Atomics.load(bell, 0);
    const request: Request | undefined = receiveMessageOnPort(port)?.message;
    if (request === undefined) Atomics.wait(bell, 0, rings);
    else if (request.kind === "close") break;
    else if (!isBroken) follow(request);
  }
  close();

  /** @returns What prevents commits for now, such as a full disk. @throws {StoreOpenError} */
  function begin(): Failure | undefined {
    try {
      probe();
      return undefined;
    } catch (error) {
      wasFull = isFull(failureCode(error));
      if (mayContinue(error)) return describe(error);
      throw openError(path, error);
    }
  }

  /** SQLite reports some other errors as if the disk were full. */
  function mayContinue(error: unknown): boolean {
    const code = failureCode(error);
    if (opened !== undefined || isServing) return isPassing(code);
    return code === "SQLITE_FULL" || (isFull(code) && !hasRoom(path));
  }

  function open(): Opened {
    if (opened === undefined) assertFileInPlace();
    opened ??= openAll(path, busyTimeoutMs);
    return opened;
  }

  function follow(request: Exclude<Request, { kind: "close" }>): void {
    if (request.kind === "commit") answer(() => write(request.values));
    else answer(request.kind === "probe" ? probe : inspect);
    attempt(() => opened?.writer.checkpointWhenDue());
  }

  function answer(work: () => Unstored): void {
    try {
      reply({ kind: "done", unstored: work() });
    } catch (error) {
      const code = failureCode(error);
      wasFull ||= isFull(code);
      if (primaryCode(code) === "SQLITE_BUSY") wait(lockedTimeoutMs);
      if (mayContinue(error)) reply({ kind: "failed", failure: describe(error) });
      else breakDown(error);
    }
  }

  function write(values: readonly Value[]): Unstored {
    const { writer, assertFilesInPlace } = open();
    const unstored = writer.write(values);
    wasFull = false;
    wait(busyTimeoutMs);
    const now = performance.now();
    if (now - filesCheckedAt >= filesCheckMs) {
      assertFilesInPlace();
      filesCheckedAt = now;
    }
    return unstored;
  }

  /** From now on, for the locks of other processes. */
  function wait(ms: number): void {
    if (ms === waitsMs) return;
    opened?.db.exec(`PRAGMA busy_timeout = ${ms}`);
    waitsMs = ms;
  }

  function inspect(): readonly [] {
    const { db, writer, assertFilesInPlace } = open();
    assertFilesInPlace();
    writer.inspect();
    const { log, checkpointed } = checkpoint(db, "NOOP");
    Atomics.store(bell, 1, log - checkpointed);
    return [];
  }

  function probe(): readonly [] {
    // First: after a power loss, a log may begin with zeros until something is written.
    open().writer.probe(wasFull ? pagesOnFullDisk : 1);
    inspect();
    wait(busyTimeoutMs);
    return [];
  }

  /** A checkpoint without space or lock is made up for by the next. Other failures are final. */
  function attempt(work: () => void): void {
    if (isBroken) return;
    try {
      work();
    } catch (error) {
      if (!isPassing(failureCode(error))) breakDown(error);
    }
  }

  function breakDown(error: unknown): void {
    isBroken = true;
    reply({ kind: "broken", failure: describe(error) });
  }

  function close(): void {
    if (opened === undefined) return;
    const { db, assertFilesInPlace } = opened;
    attempt(() => {
      assertFilesInPlace();
      // Closing would also checkpoint, but without reporting errors.
      checkpoint(db, "PASSIVE");
    });
    // Without the log's file, nobody else has written, and only closing can still save what it has.
    const mayOverwrite = isBroken && fileId(logPath(path)) !== undefined;
    using _reader = mayOverwrite ? openReader() : undefined;
    db.close();
  }

  /** While it is open, closing does not checkpoint, which could overwrite replaced files. */
  function openReader(): Database | undefined {
    try {
      const reader = openForReading(path, true);
      readValue(reader, "PRAGMA user_version");
      return reader;
    } catch {
      return undefined;
    }
  }
}

function openAll(path: string, busyTimeoutMs: number) {
  const db = openDatabase(path, busyTimeoutMs);
  const log = logPath(path);
  const assertFilesInPlace = watchFiles([path, log, log.replace(/wal$/, "shm")], log);
  return { db, writer: createWriter(db), assertFilesInPlace };
}

const reply = (message: Start | Reply) => port.postMessage(message);

try {
  main();
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  reply({ kind: "refused", code: error.code, message: error.message });
}
