import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { NewPlant, Obstacle } from "../../plant.ts";
import type { Engine, RowOutcome } from "../engine.ts";
import { StoreOpenError } from "../open-error.ts";
import { toColumns } from "../plant-columns.ts";
import { primaryCode } from "./failure.ts";
import type { Reply, Request, WorkerSetup } from "./messages.ts";

/** SQLite failed. `code` is its extended code by name, or the class of another error. */
export class SqliteFailure extends Error {
  override readonly name = "SqliteFailure";
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${message} (${code})`);
    this.code = code;
  }
}

/** The worker is a .ts file in the source and a .js file in the build, as this one is. */
const workerUrl = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

/** Absolute paths of the databases that threads of this process have open. */
const openPaths = new Set<string>();

/** The service's end of the thread that owns the database. */
export class SqliteThread implements Engine {
  /** SQLite has one writer. */
  readonly commitsMax = 1;
  /** It lies ready in the thread, which under load never waits for ours. */
  readonly commitsAhead = 1;
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  readonly #onFailure: (error: Error) => void;
  /** Answered in their order. */
  readonly #asked: PromiseWithResolvers<readonly number[]>[] = [];
  #failure: Error | undefined;
  #closing = false;

  private constructor(worker: Worker, ended: Promise<void>, onFailure: (error: Error) => void) {
    this.#worker = worker;
    this.#ended = ended;
    this.#onFailure = onFailure;
    worker.on("message", (reply: Reply) => this.#receive(reply));
    worker.on("messageerror", (error) => this.#fail(error));
    worker.on("error", (error: Error) => this.#fail(error));
    void ended.then(() => {
      if (this.#closing) return;
      this.#fail(new SqliteFailure("exit", "the SQLite thread ended by itself"));
    });
  }

  /**
   * @param onFailure Called at most once, when the engine has failed for good.
   * @throws {StoreOpenError}
   */
  static async open(setup: WorkerSetup, onFailure: (error: Error) => void): Promise<SqliteThread> {
    if (openPaths.has(setup.path)) {
      throw new StoreOpenError("in_use", `${setup.path} is already open in this process`);
    }
    openPaths.add(setup.path);
    const worker = new Worker(workerUrl, { workerData: setup, name: "plant-store-sqlite" });
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    void ended.then(() => openPaths.delete(setup.path));
    const reply = await firstReply(worker, ended);
    if (reply.kind === "opened") return new SqliteThread(worker, ended, onFailure);
    await ended;
    if (reply.kind === "refused") throw new StoreOpenError(reply.code, reply.message);
    throw notStarted(new Error(`unexpected ${reply.kind}`));
  }

  async commit(batch: readonly NewPlant[]): Promise<readonly RowOutcome[]> {
    const taken = new Set(await this.#ask({ kind: "commit", batch: toColumns(batch) }));
    return batch.map((_, index) => (taken.has(index) ? "id_taken" : "created"));
  }

  async inspect(): Promise<void> {
    await this.#ask({ kind: "inspect" });
  }

  async probe(): Promise<void> {
    await this.#ask({ kind: "probe" });
  }

  obstacle(): Obstacle | undefined {
    return this.#failure && "failed";
  }

  obstacleFrom(error: unknown): Obstacle {
    if (this.#failure !== undefined) return "failed";
    const code = error instanceof SqliteFailure ? error.code : "";
    return obstacleByCode[code] ?? obstacleByCode[primaryCode(code)] ?? "unwritable";
  }

  /** Checkpoints, closes the database and ends the thread. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#send({ kind: "close" });
    await this.#ended;
  }

  /** @returns The indexes of the rows whose id is taken, of a commit. */
  async #ask(request: Request): Promise<readonly number[]> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#send(request);
    // Behind it: what could not be sent would be given the answer of the next.
    const asked = Promise.withResolvers<readonly number[]>();
    this.#asked.push(asked);
    return await asked.promise;
  }

  #send(request: Request): void {
    this.#worker.postMessage(request);
  }

  #receive(reply: Reply): void {
    switch (reply.kind) {
      case "committed":
        this.#asked.shift()?.resolve(reply.taken);
        break;
      case "well":
        this.#asked.shift()?.resolve([]);
        break;
      case "rolled_back":
        this.#asked.shift()?.reject(new SqliteFailure(reply.code, reply.message));
        break;
      case "broken":
        this.#fail(new SqliteFailure(reply.code, reply.message));
        break;
      case "opened":
      case "refused":
        this.#fail(new SqliteFailure("protocol", `unexpected ${reply.kind}`));
        break;
    }
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    for (const asked of this.#asked.splice(0)) asked.reject(error);
    this.#onFailure(error);
  }
}

/** Of the codes that do not end the store. */
const obstacleByCode: Readonly<Record<string, Obstacle>> = {
  SQLITE_BUSY: "locked",
  SQLITE_FULL: "disk_full",
  SQLITE_IOERR_SHMSIZE: "disk_full",
  SQLITE_IOERR_TRUNCATE: "disk_full",
};

async function firstReply(worker: Worker, ended: Promise<void>): Promise<Reply> {
  try {
    const endedFirst = ended.then(() => {
      throw new Error("it ended at once");
    });
    // Rejects with the worker's error, if there is one first.
    const [reply] = (await Promise.race([once(worker, "message"), endedFirst])) as [Reply];
    return reply;
  } catch (cause) {
    await ended;
    throw notStarted(cause);
  }
}

function notStarted(cause: unknown): StoreOpenError {
  const reason = cause instanceof Error ? cause.message.split("\n", 1)[0] : String(cause);
  return new StoreOpenError(
    "unsupported",
    `the SQLite thread did not start (${reason}); run npm ci`,
    { cause },
  );
}
