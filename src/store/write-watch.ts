import type { Obstacle } from "../plant.ts";
import type { Backing } from "./backing.ts";
import { backoffMs } from "./backoff.ts";
import type { Engine } from "./engine.ts";
import { StoreOpenError } from "./open-error.ts";

/** Told when a store meets an obstacle, another one, or none any more (`undefined`). */
export type OnObstacle = (obstacle: Obstacle | undefined, cause: unknown) => void;

/** In milliseconds. */
export interface WatchTimes {
  /** How often a store that takes plants is inspected. */
  readonly inspectIntervalMs: number;
  /** The pauses between probes of a store that takes none double from the first to the second. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
}

export const defaultWatchTimes: WatchTimes = {
  // What is acknowledged in this time may be lost in a crash, if somebody has just made
  // the database forgetful. An inspection costs one or two short reads.
  inspectIntervalMs: 2000,
  backoffMinMs: 250,
  // Operators who have fixed the cause wait no longer than this.
  backoffMaxMs: 5000,
};

/**
 * Knows whether a store takes plants.
 *
 * A commit that fails raises a doubt, and a probe at once decides. So one failed
 * commit (a locked row, a plant too large for the room that is left) changes
 * nothing while others would succeed, and a slow disk is no failure at all. Two
 * failed commits in a row would prove less: a retry of a plant that is stored
 * succeeds on a full disk, as nothing is written.
 */
export class WriteWatch implements Backing {
  readonly #engine: Engine;
  readonly #onObstacle: OnObstacle | undefined;
  readonly #times: WatchTimes;
  #found: { readonly obstacle: Obstacle; readonly cause: unknown } | undefined;
  #isInDoubt = false;
  #failedProbes = 0;
  /** While the engine says that its database is away. */
  #nextProbeAt = 0;
  #dueAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #isClosed = false;

  constructor(engine: Engine, onObstacle?: OnObstacle, times: WatchTimes = defaultWatchTimes) {
    this.#engine = engine;
    this.#onObstacle = onObstacle;
    this.#times = times;
    this.#schedule(times.inspectIntervalMs);
  }

  obstacle(): Obstacle | undefined {
    return this.#found?.obstacle ?? this.#engine.obstacle();
  }

  refusal(): { readonly cause: unknown } | undefined {
    return isUnsafe(this.#found?.cause) ? this.#found : undefined;
  }

  /** A hint, no proof: the commit may have held nothing new. */
  commitSucceeded(): void {
    if (this.#found !== undefined) this.#hasten(this.#times.backoffMinMs);
  }

  commitFailed(error: unknown): void {
    if (isUnsafe(error)) this.#find(this.#engine.obstacleFrom(error), error);
    this.#isInDoubt = true;
    if (this.#failedProbes === 0) this.#check();
  }

  /** Waits for the check under way. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#checking;
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = performance.now() + ms;
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#check(), ms).unref();
  }

  /** Brings the next check forward, and never puts it off. */
  #hasten(ms: number): void {
    if (this.#checking === undefined && performance.now() + ms < this.#dueAt) this.#schedule(ms);
  }

  /** One at a time. */
  #check(): void {
    if (this.#isClosed || this.#checking !== undefined) return;
    clearTimeout(this.#timer);
    this.#checking = this.#next().then((pauseMs) => {
      this.#checking = undefined;
      this.#schedule(pauseMs);
    });
  }

  /** @returns The pause before the next check. */
  async #next(): Promise<number> {
    const { inspectIntervalMs, backoffMinMs } = this.#times;
    const isDue = this.#found === undefined || performance.now() >= this.#nextProbeAt;
    if (!isDue && this.#engine.obstacle() !== undefined) return backoffMinMs;
    const isProbe = this.#isInDoubt || this.#found !== undefined;
    this.#isInDoubt = false;
    try {
      await (isProbe ? this.#engine.probe() : this.#engine.inspect());
      this.#failedProbes = 0;
      this.#find(undefined, undefined);
      return inspectIntervalMs;
    } catch (error) {
      if (!isProbe && !isUnsafe(error)) {
        this.#isInDoubt = true;
        return 0;
      }
      this.#find(this.#engine.obstacleFrom(error), error);
      const pauseMs = backoffMs(++this.#failedProbes, this.#times);
      if (this.#engine.obstacle() === undefined) return pauseMs;
      // The engine looks for its database by itself, and knows first when it is back.
      this.#nextProbeAt = performance.now() + pauseMs;
      return backoffMinMs;
    }
  }

  #find(obstacle: Obstacle | undefined, cause: unknown): void {
    const before = this.#found?.obstacle;
    this.#found = obstacle && { obstacle, cause };
    if (obstacle !== before && !this.#isClosed) this.#onObstacle?.(obstacle, cause);
  }
}

/**
 * An inspection has found what the store would not be opened with: a success would be false, or
 * lost. A create that meets any other obstacle may be tried; it does no harm, and as soon as the
 * obstacle is gone it succeeds. So may one on a session that has lost its primary: it looks for another.
 */
function isUnsafe(error: unknown): boolean {
  return error instanceof StoreOpenError && error.code !== "inaccessible";
}
