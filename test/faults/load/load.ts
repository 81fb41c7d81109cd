import { EventEmitter, once } from "node:events";
import type { Recorder } from "../history/recorder.ts";
import type { Caller } from "./caller.ts";
import type { LoadClient } from "./client.ts";

export interface LoadOptions {
  readonly clients: readonly LoadClient[];
  /** That of the clients. */
  readonly recorder: Recorder;
  readonly callers: readonly Caller[];
}

/** An undisturbed service must recover within this time. */
const recoveryMs = 60_000;

/** Clients that run until they are stopped, each with one request at a time. */
export class Load implements AsyncDisposable {
  readonly #clients: readonly LoadClient[];
  readonly #callers: readonly Caller[];
  readonly #recorder: Recorder;
  readonly #progress = new EventEmitter().setMaxListeners(0);
  readonly #ended: Promise<unknown>;
  #isStopped = false;
  #running = 0;
  #rest: Promise<unknown> | undefined;

  constructor({ clients, recorder, callers }: LoadOptions) {
    this.#callers = callers;
    this.#recorder = recorder;
    this.#clients = clients;
    this.#ended = Promise.all(this.#clients.map((client) => this.#use(client)));
    this.#ended.catch(() => {});
  }

  /**
   * Waits for this many more successes.
   *
   * @throws If the service does not recover.
   */
  async untilStored(count: number): Promise<void> {
    const wanted = this.#recorder.stored + count;
    const signal = AbortSignal.timeout(recoveryMs);
    try {
      while (this.#recorder.stored < wanted) await once(this.#progress, "stored", { signal });
    } catch (cause) {
      throw new Error(`no plant was stored within ${recoveryMs} ms after a fault`, { cause });
    }
  }

  /** Works while no request is under way. */
  async restDuring(work: () => Promise<unknown>): Promise<void> {
    const over = Promise.withResolvers<void>();
    this.#rest = over.promise;
    try {
      while (this.#running > 0) await once(this.#progress, "answered");
      await work();
    } finally {
      this.#rest = undefined;
      over.resolve();
    }
  }

  /** Ends the load, and retries all requests with an unknown outcome. */
  async settle(): Promise<void> {
    await this[Symbol.asyncDispose]();
    await this.#ended;
    for (const client of this.#clients) {
      for (let tries = 0; client.isPending && tries < 20; tries++) await client.step(this.#callers);
      if (client.isPending) throw new Error("no answer from a service that nobody disturbs");
    }
  }

  /** Each client ends after its current request. */
  stop(): void {
    this.#isStopped = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await Promise.allSettled([this.#ended]);
  }

  async #use(client: LoadClient): Promise<void> {
    while (!this.#isStopped) {
      await this.#rest;
      this.#running++;
      const isStored = await client.step(this.#callers);
      this.#running--;
      this.#progress.emit("answered");
      if (isStored) this.#progress.emit("stored");
    }
  }
}
