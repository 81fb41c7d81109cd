import { once } from "node:events";
import { extname } from "node:path";
import { MessageChannel, type Transferable, Worker } from "node:worker_threads";
import type { Obstacle } from "../../plant.ts";
import type { Engine } from "../engine.ts";
import { StoreOpenError } from "../open-error.ts";
import { primaryCode } from "./failure.ts";
import type { Reply, Request, WorkerSetup } from "./messages.ts";
import { Bell } from "./queue/bell.ts";
import { createQueueMemory, notifyProducer } from "./queue/memory.ts";
import type { QueueEnd } from "./queue/messages.ts";
import { SqliteFailure } from "./sqlite-failure.ts";

/** The worker is a .ts file in the sources and a .js file in the build, like this file. */
const workerUrl = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

/** Absolute paths of the databases that threads of this process have open. */
const openPaths = new Set<string>();

/** Receives the results of the thread's commits. */
export interface ThreadListener {
  /** A commit failed; the next may succeed. */
  commitFailed(error: Error): void;
  /** The first commit that succeeded after a failed commit or probe. */
  commitSucceeded(): void;
  /** Nothing will be committed any more. Called at most once. */
  failed(error: Error): void;
}

/** The service's side of the thread that owns the database. */
export class SqliteThread implements Engine {
  readonly #worker: Worker;
  readonly #bell: Bell;
  readonly #ended: Promise<void>;
  readonly #queues = new Set<SharedArrayBuffer>();
  /** Inspections and probes, answered in order. */
  readonly #asked: PromiseWithResolvers<void>[] = [];
  #listener: ThreadListener | undefined;
  #failure: Error | undefined;
  #closing = false;

  private constructor(worker: Worker, bell: Bell, ended: Promise<void>) {
    this.#worker = worker;
    this.#bell = bell;
    this.#ended = ended;
    worker.on("message", (reply: Reply) => this.#receive(reply));
    worker.on("messageerror", (error) => this.#fail(error));
    worker.on("error", (error: Error) => this.#fail(error));
    void ended.then(() => {
      if (this.#closing) return;
      this.#fail(new SqliteFailure("exit", "the SQLite thread ended by itself"));
    });
  }

  /** @throws {StoreOpenError} */
  static async open(setup: Omit<WorkerSetup, "bell">): Promise<SqliteThread> {
    if (openPaths.has(setup.path)) {
      throw new StoreOpenError("in_use", `${setup.path} is already open in this process`);
    }
    openPaths.add(setup.path);
    const bell = Bell.create();
    const workerData: WorkerSetup = { ...setup, bell: bell.memory };
    const worker = new Worker(workerUrl, { workerData, name: "plant-store-sqlite" });
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
    void ended.then(() => openPaths.delete(setup.path));
    const reply = await firstReply(worker, ended);
    if (reply.kind === "opened") return new SqliteThread(worker, bell, ended);
    await ended;
    if (reply.kind === "refused") throw new StoreOpenError(reply.code, reply.message);
    throw notStarted(new Error(`unexpected ${reply.kind}`));
  }

  listen(listener: ThreadListener): void {
    this.#listener = listener;
  }

  /** Creates a queue whose plants the thread commits. */
  openQueue(): QueueEnd {
    const memory = createQueueMemory();
    const { port1, port2 } = new MessageChannel();
    this.#queues.add(memory);
    this.#send({ kind: "attach", memory, port: port1 }, [port1]);
    return { memory, bell: this.#bell.memory, port: port2 };
  }

  inspect(): Promise<void> {
    return this.#ask("inspect");
  }

  probe(): Promise<void> {
    return this.#ask("probe");
  }

  obstacle(): Obstacle | undefined {
    // The thread sets this in shared memory before it sends its message.
    return this.#bell.isBroken ? "failed" : undefined;
  }

  obstacleFrom(error: unknown): Obstacle {
    if (this.#bell.isBroken) return "failed";
    const code = error instanceof SqliteFailure ? error.code : "";
    return obstacleByCode[code] ?? obstacleByCode[primaryCode(code)] ?? "unwritable";
  }

  /** Checkpoints, closes the database and ends the thread. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#send({ kind: "close" });
    await this.#ended;
  }

  async #ask(kind: "inspect" | "probe"): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const asked = Promise.withResolvers<void>();
    this.#asked.push(asked);
    this.#send({ kind });
    await asked.promise;
  }

  #send(request: Request, transfer: readonly Transferable[] = []): void {
    this.#worker.postMessage(request, transfer);
    this.#bell.ring();
  }

  #receive(reply: Reply): void {
    switch (reply.kind) {
      case "well":
        this.#asked.shift()?.resolve();
        break;
      case "unwell":
        this.#asked.shift()?.reject(new SqliteFailure(reply.code, reply.message));
        break;
      case "commit_failed":
        this.#listener?.commitFailed(new SqliteFailure(reply.code, reply.message));
        break;
      case "commit_succeeded":
        this.#listener?.commitSucceeded();
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
    this.#bell.break();
    for (const memory of this.#queues) notifyProducer(memory);
    this.#listener?.failed(error);
  }
}

/** For the codes that do not end the store. */
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
    // Rejects with the worker's error if that comes first.
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
