import { setTimeout as delay } from "node:timers/promises";
import type { Recorder } from "../history/recorder.ts";
import type { Caller } from "../load/caller.ts";
import { LoadClient } from "../load/client.ts";

const clientCount = 3;

/** Of a client, between two requests: it is a witness, and not a flood of its own. */
const pauseMs = 15;

/** Told to the server; long, as no request of a client that behaves may fail. */
const deadlinesMs = [8000, 10_000] as const;

/** Clients that behave, all the time, and how long their requests take. */
export class Witness implements AsyncDisposable {
  readonly #running: Promise<unknown>;
  #tookMs: number[] = [];
  #isStopped = false;

  constructor(
    callers: readonly Caller[],
    { seed, recorder }: { seed: number; recorder: Recorder },
  ) {
    const clients = Array.from(
      { length: clientCount },
      (_, index) => new LoadClient(index, { seed, recorder, deadlinesMs }),
    );
    this.#running = Promise.all(clients.map((client) => this.#use(client, callers)));
    this.#running.catch(() => {});
  }

  /** The times in ms of the requests that ended since the last call. */
  takeTimes(): number[] {
    const times = this.#tookMs;
    this.#tookMs = [];
    return times;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #use(client: LoadClient, callers: readonly Caller[]): Promise<void> {
    while (!this.#isStopped) {
      const begin = performance.now();
      await client.step(callers);
      this.#tookMs.push(performance.now() - begin);
      await delay(pauseMs);
    }
  }
}

/** The 99th percentile; 0 of nothing. */
export function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}
