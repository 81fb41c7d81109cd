import { backoffMs } from "../backoff.ts";
import type { Obstacle } from "../plant.ts";
import type { Engine } from "./engine.ts";
import type { CallersWait } from "./group-commit.ts";
import { StoreOpenError } from "./open-error.ts";
import type { OnObstacle } from "./options.ts";

export interface WatchTimes {
  readonly inspectIntervalMs: number;
  /** While the store is not writable, the pauses between probes double up to the maximum. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
}

export const defaultWatchTimes: WatchTimes = {
  // If somebody turns off durability, plants of this interval may be lost in a crash.
  inspectIntervalMs: 2000,
  backoffMinMs: 250,
  // The longest that operators wait after they have fixed the cause.
  backoffMaxMs: 5000,
};

/**
 * Tracks whether a store accepts writes. A failed commit only triggers a probe, and the probe
 * decides: one failed commit (a locked row, a plant too large for the remaining space) changes
 * nothing while others would succeed. Two failed commits in a row would be a weaker sign: on a full
 * disk, a retry of a stored plant succeeds in between, because it writes nothing.
 */
export class WriteWatch {
  readonly #engine: Engine;
  readonly #onObstacle: OnObstacle | undefined;
  readonly #times: WatchTimes;
  #found: { readonly obstacle: Obstacle; readonly cause: unknown } | undefined;
  #isInDoubt = false;
  /** A commit or a probe. */
  #succeededAt = Number.NEGATIVE_INFINITY;
  #failedProbes = 0;
  /** While the engine reports its database as unreachable. */
  #nextProbeAt = 0;
  #dueAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  #isClosed = false;

  constructor(engine: Engine, onObstacle?: OnObstacle, times: WatchTimes = defaultWatchTimes) {
    this.#engine = engine;
    this.#onObstacle = onObstacle;
    this.#times = times;
    const cause = engine.openedWith;
    if (cause !== undefined) this.#find(engine.obstacleFrom(cause), cause);
    this.#schedule(cause === undefined ? times.inspectIntervalMs : times.backoffMinMs);
  }

  obstacle(): Obstacle | undefined {
    return this.#found?.obstacle ?? this.#engine.obstacle();
  }

  /** Why commits must not be tried now; undefined if they may be. */
  refusal(): { readonly cause: unknown } | undefined {
    return isUnsafe(this.#found?.cause) ? this.#found : undefined;
  }

  /** Only a hint: the commit may have written nothing new. */
  commitSucceeded(): void {
    this.#succeededAt = performance.now();
    if (this.#found !== undefined) this.#hasten(this.#times.backoffMinMs);
  }

  commitFailed(error: unknown): void {
    if (isUnsafe(error)) this.#find(this.#engine.obstacleFrom(error), error);
    this.#isInDoubt = true;
    if (this.#failedProbes === 0) this.#check();
  }

  commitRetried(error: unknown): void {
    if (this.#holdKnown(error)) this.#hasten(this.#times.backoffMinMs);
  }

  /** If nothing has succeeded since then, a probe decides, or its silence. */
  callersWait({ since, limitMs, error }: CallersWait): void {
    if (this.#found !== undefined || this.#succeededAt > since) return;
    const waitedMs = performance.now() - since;
    if (waitedMs >= limitMs) this.#find(this.#engine.obstacleFrom(error), error);
    else if (waitedMs >= limitMs / 2) this.commitFailed(error);
  }

  /** A check that is under way ends with the engine. */
  stop(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer);
    this.#dueAt = performance.now() + ms;
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#check(), ms).unref();
  }

  /** Brings the next check forward. Never delays it. */
  #hasten(ms: number): void {
    if (this.#checking === undefined && performance.now() + ms < this.#dueAt) this.#schedule(ms);
  }

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
      if (!isProbe) return this.#isInDoubt ? 0 : inspectIntervalMs;
      this.#failedProbes = 0;
      this.#succeededAt = performance.now();
      this.#find(undefined, undefined);
      return inspectIntervalMs;
    } catch (error) {
      if (!isProbe && !isUnsafe(error)) {
        this.#holdKnown(error);
        this.#isInDoubt = true;
        return 0;
      }
      this.#find(this.#engine.obstacleFrom(error), error);
      const pauseMs = backoffMs(++this.#failedProbes, this.#times);
      if (this.#engine.obstacle() === undefined) return pauseMs;
      // The engine reconnects to its database by itself, and is the first to know when it is back.
      this.#nextProbeAt = performance.now() + pauseMs;
      return backoffMinMs;
    }
  }

  /**
   * An obstacle that the engine knows holds until a probe succeeds: a connection that is open again
   * need not store anything. @returns whether it is new.
   */
  #holdKnown(cause: unknown): boolean {
    const known = this.#engine.obstacle();
    if (known === undefined || this.#found !== undefined) return false;
    this.#isInDoubt = true;
    this.#find(known, cause);
    return true;
  }

  #find(obstacle: Obstacle | undefined, cause: unknown): void {
    const before = this.#found?.obstacle;
    this.#found = obstacle && { obstacle, cause };
    if (obstacle !== before && !this.#isClosed) this.#onObstacle?.(obstacle, cause);
  }
}

/**
 * An inspection found a state in which the store would not be opened: a create would be wrong or
 * lost. With any other obstacle, a create may be tried, and succeeds as soon as the obstacle is
 * gone.
 */
function isUnsafe(error: unknown): boolean {
  return error instanceof StoreOpenError && error.code !== "inaccessible";
}
