import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { NewPlant, Obstacle, PlantStore } from "../../plant.ts";
import { createBatchedStore } from "../batched-store.ts";
import type { Engine, RowOutcome } from "../engine.ts";
import { StoreOpenError } from "../open-error.ts";
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

/** An error of SQLite. `code` is the name of its extended code, or the class of another error. */
class SqliteFailure extends Error {
  override readonly name = "SqliteFailure";
  readonly code: string;

  constructor({ code, message }: Failure) {
    super(`${message} (${code})`);
    this.code = code;
  }
}

type Options = Pick<StoreOptions, "onFailure" | "onNotice" | "observer">;

interface Opened extends Omit<WorkerSetup, "busyTimeoutMs"> {
  readonly worker: Worker;
  readonly ended: Promise<void>;
  readonly failure: Failure | undefined;
}

/** The service's side of the thread that owns the database. */
export class SqliteThread implements Engine {
  readonly commitsMax = 1;
  readonly commitsAhead = 1;
  readonly mergesCommits = false;
  readonly openedWith: Error | undefined;
  readonly #worker: Worker;
  readonly #bell: Int32Array;
  readonly #ended: Promise<void>;
  readonly #onFailure: StoreOptions["onFailure"];
  readonly #tellOfLog: (waitingPages: number) => void;
  /** What the thread was asked, answered in order. */
  readonly #asked: PromiseWithResolvers<Unstored>[] = [];
  #failure: Error | undefined;
  #closing = false;

  /** @throws {StoreOpenError} */
  static async open(
    path: string,
    busyTimeoutMs: number,
    options: Options = {},
  ): Promise<SqliteThread> {
    if (openPaths.has(path)) {
      throw new StoreOpenError("in_use", `${path} is already open in this process`);
    }
    openPaths.add(path);
    const bell = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
    const workerData: WorkerSetup = { path, busyTimeoutMs, bell };
    const worker = new Worker(workerUrl, { workerData, name: "plant-store-sqlite" });
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    void ended.then(() => openPaths.delete(path));
    const start = await startOf(worker, ended);
    if (start.kind === "opened") {
      return new SqliteThread({ path, worker, bell, ended, failure: start.failure }, options);
    }
    await ended;
    throw new StoreOpenError(start.code, start.message);
  }

  private constructor({ path, worker, bell, ended, failure }: Opened, options: Options) {
    this.#worker = worker;
    this.#bell = new Int32Array(bell);
    this.#ended = ended;
    this.openedWith = failure && new SqliteFailure(failure);
    this.#onFailure = options.onFailure;
    this.#tellOfLog = tellOfUsers(path, options);
    worker.on("message", (reply: Reply) => this.#receive(reply));
    worker.on("error", (error: Error) => this.#fail(error));
    void ended.then(() => {
      if (this.#closing) return;
      this.#fail(new SqliteFailure({ code: "exit", message: "the SQLite thread ended by itself" }));
    });
  }

  partOf(): string {
    return "";
  }

  async commit(batch: readonly NewPlant[]): Promise<readonly (RowOutcome | Error)[]> {
    const unstored = await this.#ask({ kind: "commit", values: valuesOf(batch) });
    const outcomes = batch.map((): RowOutcome | Error => "created");
    for (const [row, error] of unstored)
      outcomes[row] = error ? new SqliteFailure(error) : "id_taken";
    return outcomes;
  }

  async inspect(): Promise<void> {
    await this.#ask({ kind: "inspect" });
    this.#tellOfLog(Atomics.load(this.#bell, 1));
  }

  async probe(): Promise<void> {
    await this.#ask({ kind: "probe" });
  }

  isOfRow(error: unknown): boolean {
    return error instanceof SqliteFailure && isOfRow(error.code);
  }

  obstacle(): Obstacle | undefined {
    return this.#failure && "failed";
  }

  obstacleFrom(error: unknown): Obstacle {
    if (this.#failure !== undefined) return "failed";
    const code = error instanceof SqliteFailure ? error.code : "";
    if (isFull(code)) return "disk_full";
    if (code === "SQLITE_ERROR") return "damaged";
    return primaryCode(code) === "SQLITE_BUSY" ? "locked" : "unwritable";
  }

  /** Checkpoints, closes the database and ends the thread. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#send({ kind: "close" });
    await this.#ended;
  }

  async #ask(request: Request): Promise<Unstored> {
    if (this.#failure !== undefined) throw this.#failure;
    const asked = Promise.withResolvers<Unstored>();
    this.#send(request);
    this.#asked.push(asked);
    return await asked.promise;
  }

  #send(request: Request): void {
    this.#worker.postMessage(request);
    Atomics.add(this.#bell, 0, 1);
    Atomics.notify(this.#bell, 0);
  }

  #receive(reply: Reply): void {
    switch (reply.kind) {
      case "done":
        this.#asked.shift()?.resolve(reply.unstored);
        break;
      case "failed":
        this.#asked.shift()?.reject(new SqliteFailure(reply.failure));
        break;
      case "broken":
        this.#fail(new SqliteFailure(reply.failure));
        break;
    }
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const asked of this.#asked.splice(0)) asked.reject(error);
    this.#onFailure?.(error);
  }
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
    const [reason] = (cause as Error).message.split("\n", 1);
    throw new StoreOpenError(
      "unsupported",
      `the SQLite thread did not start (${reason}); run npm ci`,
      { cause },
    );
  }
}

/** @param busyTimeoutMs For other processes' locks. @throws {StoreOpenError} */
export async function openSqlite(
  path: string,
  options: StoreOptions,
  busyTimeoutMs = defaultBusyTimeoutMs,
): Promise<PlantStore> {
  const thread = await SqliteThread.open(path, busyTimeoutMs, options);
  return createBatchedStore(thread, options);
}
