import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { PlantStore } from "../../plant.ts";
import { createBatchedStore } from "../batched-store.ts";
import type { Engine, RowOutcome } from "../engine.ts";
import { StoreError, StoreOpenError } from "../open-error.ts";
import type { StoreOptions } from "../options.ts";
import { isFull, isOfRow, primaryCode } from "./failure.ts";
import { busyTimeoutMs as defaultBusyTimeoutMs } from "./files.ts";
import {
  type Failure,
  type Reply,
  type Request,
  type Start,
  type Unstored,
  valuesOf,
  type WorkerSetup,
} from "./messages.ts";
import { tellOfUsers } from "./users.ts";

/** The worker is a .ts file in the sources and a .js file in the build, like this file. */
const workerUrl = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

/** Absolute paths of the databases that threads of this process have open. */
const openPaths = new Set<string>();
export const isOpen = (path: string) => openPaths.has(path);

/** An error of SQLite. `code` is the name of its extended code, or the class of another error. */
class SqliteFailure extends StoreError {
  override readonly name = "SqliteFailure";
  readonly code: string;

  constructor({ code, message }: Failure) {
    super(code === "Error" ? message : `${message} (${code})`); // ours, without a code
    this.code = code;
  }
}

/**
 * The service's side of the thread that owns the database.
 * @param busyTimeoutMs For other processes' locks. @throws {StoreOpenError}
 */
export async function openThread(
  path: string,
  busyTimeoutMs: number,
  options: Pick<StoreOptions, "onFailure" | "onNotice" | "observer"> = {},
): Promise<Engine> {
  if (openPaths.has(path)) {
    throw new StoreOpenError("in_use", `${path} is already open in this process`);
  }
  openPaths.add(path);
  const bell = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const workerData: WorkerSetup = { path, busyTimeoutMs, bell };
  const worker = new Worker(workerUrl, { workerData, name: "plant-store-sqlite" });
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  void ended.then(() => openPaths.delete(path));
  const start = await startOf(worker, ended);
  if (start.kind === "refused") {
    await ended;
    throw new StoreOpenError(start.code, start.message);
  }

  const tellOfLog = tellOfUsers(path, options);
  /** What the thread was asked, answered in order. */
  const asked: PromiseWithResolvers<Unstored>[] = [];
  let failure: Error | undefined;
  let isClosing = false;
  worker.on("message", receive);
  worker.on("error", fail);
  void ended.then(() => {
    if (isClosing) return;
    fail(new SqliteFailure({ code: "exit", message: "the SQLite thread ended by itself" }));
  });

  async function ask(request: Request): Promise<Unstored> {
    if (failure !== undefined) throw failure;
    const answer = Promise.withResolvers<Unstored>();
    send(request);
    asked.push(answer);
    return await answer.promise;
  }

  function send(request: Request): void {
    worker.postMessage(request);
    Atomics.add(bell, 0, 1);
    Atomics.notify(bell, 0);
  }

  function receive(reply: Reply): void {
    if (reply.kind === "done") asked.shift()?.resolve(reply.unstored);
    else if (reply.kind === "failed") asked.shift()?.reject(new SqliteFailure(reply.failure));
    else fail(new SqliteFailure(reply.failure));
  }

  function fail(error: Error): void {
    if (failure !== undefined) return;
    failure = error;
    for (const one of asked.splice(0)) one.reject(error);
    options.onFailure?.(error);
  }

  return {
    commitsMax: 1,
    commitsAhead: 1,
    mergesCommits: false,
    openedWith: start.failure && new SqliteFailure(start.failure),
    partOf: () => "",
    async commit(batch) {
      const unstored = await ask({ kind: "commit", values: valuesOf(batch) });
      const outcomes = batch.map((): RowOutcome | Error => "created");
      for (const [row, error] of unstored)
        outcomes[row] = error ? new SqliteFailure(error) : "id_taken";
      return outcomes;
    },
    async inspect() {
      await ask({ kind: "inspect" });
      tellOfLog(Atomics.load(bell, 1));
    },
    async probe() {
      await ask({ kind: "probe" });
    },
    isOfRow: (error) => error instanceof SqliteFailure && isOfRow(error.code),
    obstacle: () => failure && "failed",
    obstacleFrom(error) {
      if (failure !== undefined) return "failed";
      const code = error instanceof SqliteFailure ? error.code : "";
      if (isFull(code)) return "disk_full";
      if (code === "SQLITE_ERROR") return "damaged";
      return primaryCode(code) === "SQLITE_BUSY" ? "locked" : "unwritable";
    },
    /** Checkpoints, closes the database and ends the thread. */
    async close() {
      isClosing = true;
      send({ kind: "close" });
      await ended;
    },
  };
}

async function startOf(worker: Worker, ended: Promise<void>): Promise<Start> {
  try {
    const endedFirst = ended.then(() => {
      throw new Error("it ended at once");
    });
    // Rejects with the worker's error if that comes first.
    const [start] = (await Promise.race([once(worker, "message"), endedFirst])) as [Start];
    return start;
  } catch (cause) {
    await ended;
    if ((cause as NodeJS.ErrnoException).syscall === "uv_cwd") throw cause; // the folder was deleted
    const [reason] = (cause as Error).message.split("\n", 1);
    const problem = `the SQLite thread did not start (${reason}); allow more threads and open files, or install again`;
    throw new StoreOpenError("unsupported", problem, { cause });
  }
}

export async function openSqlite(
  path: string,
  options: StoreOptions,
  busyTimeoutMs = defaultBusyTimeoutMs,
): Promise<PlantStore> {
  return createBatchedStore(await openThread(path, busyTimeoutMs, options), options);
}
