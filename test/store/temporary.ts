import type { Worker } from "node:worker_threads";
import { expect, onTestFinished } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";

/** A new directory, removed at the end of the test. */
export async function temporaryFolder(parent?: string): Promise<string> {
  const folder = await createTemporaryFolder(parent);
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder.path;
}

/** Tracks this process's worker threads. */
export class WorkerWatch {
  readonly #living = new Set<Worker>();
  readonly #onWorker = (worker: Worker) => {
    this.#living.add(worker);
    worker.once("exit", () => this.#living.delete(worker));
  };

  constructor() {
    process.on("worker", this.#onWorker);
  }

  /** The most recently started running thread. */
  get last(): Worker {
    const worker = [...this.#living].at(-1);
    if (worker === undefined) throw new Error("no worker thread runs");
    return worker;
  }

  /** Fails if a thread is still running. */
  end(): void {
    process.off("worker", this.#onWorker);
    expect(this.#living.size, "worker threads left running").toBe(0);
  }
}
