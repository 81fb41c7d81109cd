import { backoffMs } from "../backoff.ts";
import type { Obstacle } from "../plant.ts";
import type { Engine } from "./engine.ts";
import type { CallersWait } from "./group-commit.ts";
import { StoreOpenError } from "./open-error.ts";
import type { OnObstacle } from "./options.ts";

export type WatchTimes = Readonly<typeof defaultWatchTimes>;

const defaultWatchTimes = {
  // If somebody turns off durability, plants of this interval may be lost in a crash.
  inspectIntervalMs: 2000,
  // While the store is not writable, the pauses between probes double up to the maximum.
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
export function createWriteWatch(
  engine: Engine,
  onObstacle?: OnObstacle,
  times: WatchTimes = defaultWatchTimes,
) {
  const { inspectIntervalMs, backoffMinMs } = times;
  let found: { readonly obstacle: Obstacle; readonly cause: unknown } | undefined;
  let isInDoubt = false;
  /** A commit or a probe. */
  let succeededAt = Number.NEGATIVE_INFINITY;
  let failedProbes = 0;
  /** While the engine reports its database as unreachable. */
  let nextProbeAt = 0;
  let dueAt = 0;
  let timer: NodeJS.Timeout | undefined;
  let checking: Promise<void> | undefined;
  let isClosed = false;

  const { openedWith } = engine;
  if (openedWith !== undefined) find(engine.obstacleFrom(openedWith), openedWith);
  schedule(openedWith === undefined ? inspectIntervalMs : backoffMinMs);

  return {
    obstacle: () => found?.obstacle ?? engine.obstacle(),
    /** Why commits must not be tried now; undefined if they may be. */
    refusal: () => (isUnsafe(found?.cause) ? found : undefined),
    // Only a hint: the commit may have written nothing new.
    commitSucceeded() {
      succeededAt = performance.now();
      if (found !== undefined) hasten(backoffMinMs);
    },
    commitFailed,
    commitRetried(error: unknown) {
      if (holdKnown(error)) hasten(backoffMinMs);
    },
    // If nothing has succeeded for long, a probe decides, or its silence.
    callersWait({ since, limitMs, error }: CallersWait) {
      if (found !== undefined) return;
      const waitedMs = performance.now() - Math.max(since, succeededAt);
      if (waitedMs >= limitMs) find(engine.obstacleFrom(error), error);
      else if (waitedMs >= limitMs / 2) commitFailed(error);
    },
    /** A check that is under way ends with the engine. */
    stop() {
      isClosed = true;
      clearTimeout(timer);
    },
  };

  function commitFailed(error: unknown): void {
    if (isUnsafe(error)) find(engine.obstacleFrom(error), error);
    isInDoubt = true;
    if (failedProbes === 0) check();
  }

  function schedule(ms: number): void {
    clearTimeout(timer);
    dueAt = performance.now() + ms;
    if (!isClosed) timer = setTimeout(check, ms).unref();
  }

  /** Brings the next check forward. Never delays it. */
  function hasten(ms: number): void {
    if (checking === undefined && performance.now() + ms < dueAt) schedule(ms);
  }

  function check(): void {
    if (isClosed || checking !== undefined) return;
    clearTimeout(timer);
    checking = next().then((pauseMs) => {
      checking = undefined;
      schedule(pauseMs);
    });
  }

  /** @returns The pause before the next check. */
  async function next(): Promise<number> {
    const isDue = found === undefined || performance.now() >= nextProbeAt;
    if (!isDue && engine.obstacle() !== undefined) return backoffMinMs;
    const isProbe = isInDoubt || found !== undefined;
    isInDoubt = false;
    try {
      await (isProbe ? engine.probe() : engine.inspect());
      if (!isProbe) return isInDoubt ? 0 : inspectIntervalMs;
      failedProbes = 0;
      succeededAt = performance.now();
      find(undefined, undefined);
      return inspectIntervalMs;
    } catch (error) {
      if (!isProbe && !isUnsafe(error)) {
        holdKnown(error);
        isInDoubt = true;
        return 0;
      }
      find(engine.obstacleFrom(error), error);
      const pauseMs = backoffMs(++failedProbes, times);
      if (engine.obstacle() === undefined) return pauseMs;
      // The engine reconnects to its database by itself, and is the first to know when it is back.
      nextProbeAt = performance.now() + pauseMs;
      return backoffMinMs;
    }
  }

  /**
   * An obstacle that the engine knows holds until a probe succeeds: a connection that is open again
   * need not store anything. @returns whether it is new.
   */
  function holdKnown(cause: unknown): boolean {
    const known = engine.obstacle();
    if (known === undefined || found !== undefined) return false;
    isInDoubt = true;
    find(known, cause);
    return true;
  }

  function find(obstacle: Obstacle | undefined, cause: unknown): void {
    const before = found?.obstacle;
    found = obstacle && { obstacle, cause };
    if (obstacle !== before && !isClosed) onObstacle?.(obstacle, cause);
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
