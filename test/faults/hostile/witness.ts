import { Worker } from "node:worker_threads";
import type { RequestRecord } from "../history/history.ts";
import type { WitnessSetup } from "./witness-thread.ts";

/** Well-behaved clients that run all the time on a separate thread. */
export class Witness implements AsyncDisposable {
  readonly #thread: Worker;
  readonly #requests = Promise.withResolvers<readonly RequestRecord[]>();

  constructor(setup: WitnessSetup) {
    this.#thread = new Worker(new URL("witness-thread.ts", import.meta.url), {
      workerData: setup,
      name: "witness",
    });
    const { promise, resolve, reject } = this.#requests;
    this.#thread.once("message", resolve);
    this.#thread.once("error", reject);
    this.#thread.once("exit", (code) => reject(new Error(`the witness ended with ${code}`)));
    // It may fail while nobody waits for it: `finish` reports it.
    promise.catch(() => {});
  }

  /**
   * Lets the running requests end.
   *
   * @returns All requests.
   * @throws What the thread has thrown.
   */
  async finish(): Promise<readonly RequestRecord[]> {
    this.#thread.postMessage("finish");
    return await this.#requests.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate();
  }
}
