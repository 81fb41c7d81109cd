import { backoffMs } from "../backoff.ts";
import { type Cancellation, type NewPlant, overloaded, PlantError } from "../plant.ts";
import type { BatchEngine, RowOutcome } from "./engine.ts";
import type { CommitLimits, CommitObserver } from "./options.ts";
import {
  createWaitingRoom,
  heapBytes,
  heapBytesMin,
  Line,
  Waiter,
  type WaitingRoom,
} from "./waiting-room.ts";

/** Groups plants into commits, in a queue for each part of the database. */
export function createGroupCommit(
  engine: BatchEngine,
  limits: CommitLimits,
  { watch, observer }: Pick<QueueOptions, "watch" | "observer">,
) {
  const room = createWaitingRoom(limits, observer);
  const queues = new Map<string, CommitQueue>();
  let clock: NodeJS.Timeout | undefined;

  /** One timer for all, so that a caller costs none. */
  function tick(): void {
    const now = performance.now();
    const waits = [...queues.values()].map((queue) => queue.tellLate(now));
    // Of a part in which nobody waits, nothing is known.
    const { since, error } = waits.reduce((one, other) => (one.since > other.since ? one : other));
    watch.callersWait({ since, limitMs: limits.answerTimeoutMs, error });
    clock = waits.some((wait) => wait.since < now) ? setTimeout(tick, tickMs).unref() : undefined;
  }

  function queueOf(id: bigint): CommitQueue {
    const part = engine.partOf(id);
    let queue = queues.get(part);
    if (queue === undefined) {
      queue = createQueue(part, { engine, limits, room, watch, observer });
      queues.set(part, queue);
    }
    return queue;
  }

  return {
    /**
     * @param signal Removes a waiting plant. Once its commit has begun, only the caller stops
     * waiting.
     * @throws The reason of the signal, at once; a {@link PlantError} `overloaded`, at once; or
     * `unavailable`, if the commit failed or did not return within the time of a caller.
     */
    submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (clock === undefined) clock = setTimeout(tick, tickMs).unref();
      return queueOf(plant.id).submit(plant, signal);
    },
    /** Whether even the smallest plant of any part would be rejected now. */
    isFull: () => !room.hasRoom(heapBytesMin),
    /** Resolves when no caller waits. Commits that nobody waits for may be under way. */
    async drain(): Promise<void> {
      for (;;) {
        const callers = [...queues.values()].flatMap((queue) => queue.callers());
        if (callers.length === 0) return;
        await Promise.allSettled(callers.map(({ outcome }) => outcome));
      }
    },
  };
}

/** How much later than its time a caller may hear, in milliseconds. */
const tickMs = 100;

interface QueueOptions {
  readonly engine: BatchEngine;
  readonly limits: CommitLimits;
  readonly room: WaitingRoom;
  readonly watch: CommitWatch;
  readonly observer: CommitObserver | undefined;
}

export interface CommitWatch {
  commitSucceeded(): void;
  commitFailed(error: unknown): void;
  commitRetried(error: unknown): void;
  callersWait(wait: CallersWait): void;
}

export interface CallersWait {
  /** From then on, callers have waited in all parts. */
  readonly since: number;
  readonly limitMs: number;
  /** For what, as far as is known. */
  readonly error: unknown;
}

type CommitQueue = ReturnType<typeof createQueue>;

/**
 * Groups the plants of one part of a database into commits, in order of arrival. Plants that arrive
 * while the engine runs its maximum of commits share the next one. A commit with enough rows begins
 * at once, so that it is written while the rest of a burst is read. One with few rows may wait for
 * those under way. If the engine says that a commit may succeed later, its plants are retried
 * beside all others.
 */
function createQueue(part: string, options: QueueOptions) {
  const { engine, limits, room, watch, observer } = options;
  const { batchRowsMax, batchBytesMax } = limits;
  const pace = createPace(batchRowsMax, engine.commitsMax > 1 && !engine.mergesCommits);
  const share = room.openShare();
  const waiting = new Line(room, share);
  const late = new Line(room, share);
  /** Not a Set: V8 links its old tables to new ones, which keeps ended calls alive. */
  const begun: (readonly Waiter[])[] = [];
  let isRetrying = false;
  /** Of the failures that were retried since the last success. */
  let outage: { begunAt: number; failedAt: number; error: unknown } | undefined;
  let isGathering = false;
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;
  let rowsUnderWay = 0;
  let endedAt = 0;
  return { submit, tellLate, callers };

  function submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
    const bytes = heapBytes(plant);
    if (!room.hasRoom(bytes, share)) return Promise.reject(overloaded());
    const waiter = new Waiter(plant, bytes, signal);
    waiting.push(waiter);
    gather();
    return waiter.outcome;
  }

  /**
   * Tells callers whose time is over. Plants whose commits have begun may be stored all the same.
   * @returns Since when a caller waits, or `now`; and for what, as far as is known.
   */
  function tellLate(now: number): { readonly since: number; readonly error: unknown } {
    const error = outage?.error ?? tooSlow;
    let since = now;
    for (const waiter of callers()) {
      since = Math.min(since, waiter.since);
      const isOver = now - waiter.since >= limits.answerTimeoutMs;
      if (isOver) waiter.leave(unavailable(notConfirmed, error));
    }
    return { since, error };
  }

  function callers(): Waiter[] {
    return [waiting.waiters, late.waiters, ...begun].flat().filter(({ isSettled }) => !isSettled);
  }

  /** Begins commits that are worthwhile, or else one when the expected rows have come. */
  function gather(): void {
    const { commitsMax, commitsAhead } = engine;
    while (underWay < commitsMax + commitsAhead && isWorthwhile()) begin();
    if (isGathering || !mayBegin()) return;
    isGathering = true;
    // Plants that arrive in the same turn of the event loop share a commit. Otherwise the first
    // of a burst would be committed alone, and the others would wait for it.
    const patienceMs = pace.patienceMs(underWay > 0);
    if (patienceMs > 0) timer = setTimeout(endGathering, patienceMs);
    else setImmediate(endGathering);
  }

  /** When a commit begins or ends, waiting plants have something else to wait for. */
  function stopGathering(): void {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    isGathering = false;
  }

  function endGathering(): void {
    isGathering = false;
    timer = undefined;
    if (mayBegin()) begin();
    gather();
  }

  function isWorthwhile(): boolean {
    const { rows, bytes } = waiting;
    return rows > 0 && (rows >= pace.worthwhile || bytes >= batchBytesMax);
  }

  function mayBegin(): boolean {
    return waiting.rows > 0 && underWay < engine.commitsMax;
  }

  function begin(): void {
    stopGathering();
    const batch = waiting.take(batchRowsMax, batchBytesMax);
    underWay++;
    rowsUnderWay += batch.length;
    void commit(batch).then(() => {
      underWay--;
      rowsUnderWay -= batch.length;
      stopGathering();
      gather();
    });
  }

  /** @returns Whether it succeeded, apart from rows that cannot be stored. */
  async function commit(batch: readonly Waiter[]): Promise<boolean> {
    begun.push(batch);
    try {
      const outcomes = await observed(batch.map(({ plant }) => plant));
      if (outcomes.length !== batch.length) {
        throw new Error(`a commit of ${batch.length} rows had ${outcomes.length} outcomes`);
      }
      for (const [index, waiter] of batch.entries()) {
        const outcome = outcomes[index] as RowOutcome | Error;
        if (outcome instanceof Error) waiter.reject(unavailable(notStored, outcome));
        else waiter.resolve(outcome);
      }
      outage = undefined;
      watch.commitSucceeded();
      return true;
    } catch (error) {
      if (engine.isOfRow(error)) return await commitHalves(batch, error);
      retryOrReject(batch, error);
      return false;
    } finally {
      begun.splice(begun.indexOf(batch), 1);
    }
  }

  /** Finds the row at fault, and rejects it alone. */
  async function commitHalves(batch: readonly Waiter[], error: unknown): Promise<boolean> {
    if (batch.length === 1) {
      batch[0]?.reject(unavailable(notStored, error));
      return true;
    }
    const middle = Math.ceil(batch.length / 2);
    let isDone = true;
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      const staying = half.filter(({ isSettled }) => !isSettled);
      if (staying.length > 0 && !(await commit(staying))) isDone = false;
    }
    return isDone;
  }

  async function observed(plants: readonly NewPlant[]): Promise<readonly (RowOutcome | Error)[]> {
    const isAhead = underWay > engine.commitsMax;
    const begunAt = performance.now();
    let isFailed = true;
    try {
      const outcomes = await engine.commit(plants, part);
      isFailed = false;
      return outcomes;
    } catch (error) {
      isFailed = !engine.isOfRow(error);
      throw error;
    } finally {
      const now = performance.now();
      const durationMs = now - (isAhead ? Math.max(begunAt, endedAt) : begunAt);
      endedAt = now;
      pace.commitEnded(waiting.rows + rowsUnderWay, durationMs);
      observer?.commitEnded({ rows: plants.length, durationMs, isFailed });
    }
  }

  function retryOrReject(batch: readonly Waiter[], error: unknown): void {
    if (engine.retries?.isSilent(error, part) === true) rejectWaiting(error);
    const since = retriedSince(error);
    let isKept = false;
    for (const waiter of batch) {
      if (waiter.isSettled) continue;
      if (waiter.since > since && room.hasRoom(waiter.bytes, share)) {
        late.push(waiter);
        isKept = true;
      } else {
        waiter.reject(unavailable(notConfirmed, error));
      }
    }
    // Also if all callers have left: who comes next would wait for nothing.
    if (isKept) watch.commitRetried(error);
    else watch.commitFailed(error);
    if (late.rows > 0 && !isRetrying) void retry();
  }

  function rejectWaiting(error: unknown): void {
    for (const line of [waiting, late]) {
      for (const waiter of line.take(line.rows, line.bytes))
        waiter.reject(unavailable(notConfirmed, error));
    }
  }

  /** @returns Plants that came later are retried. In an outage that lasts, none are. */
  function retriedSince(error: unknown): number {
    const { retries } = engine;
    if (retries?.mayHelp(error) !== true) return Number.POSITIVE_INFINITY;
    const now = performance.now();
    const limit = now - retries.retryLimitMs;
    const begunAt = outage !== undefined && outage.failedAt >= limit ? outage.begunAt : now;
    outage = { begunAt, failedAt: now, error };
    return begunAt <= limit ? Number.POSITIVE_INFINITY : limit;
  }

  /** A single row may be the cause: each failure retries fewer rows at once, and others first. */
  async function retry(): Promise<void> {
    isRetrying = true;
    let rowsMax = batchRowsMax;
    for (let failures = 1; engine.retries !== undefined && late.rows > 0; ) {
      const pauseMs = failures > 0 ? backoffMs(failures, engine.retries) : 0;
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      const batch = late.take(rowsMax, batchBytesMax);
      if (batch.length === 0) {
        // All callers have left. Who comes next would wait for nothing.
        if (outage !== undefined) watch.commitFailed(outage.error);
        break;
      }
      const isDone = await commit(batch);
      failures = isDone ? 0 : failures + 1;
      rowsMax = isDone ? batchRowsMax : Math.ceil(batch.length / 2);
    }
    isRetrying = false;
  }
}

const tooSlow = new Error("a commit takes too long");

const notConfirmed = "the store could not confirm that the plant was written; try again";
const notStored = "the database did not store the plant as it is; the server's log says why";

function unavailable(message: string, cause: unknown): PlantError {
  return new PlantError("unavailable", message, { cause });
}

/** Where commits run in parallel, and before anything is known about the callers. */
const worthwhileInParallel = 32;

/** Per commit. After some fifty commits, callers that have gone no longer count. */
const callersDecay = 0.95;

/** About how long callers take to read their answers and come again. */
const returnMs = { base: 0.5, each: 0.04 } as const;

/** Limits how long a commit waits for callers, or for another that takes longer than the last one. */
const patienceMsMax = 100;

/** Decides how many rows make a commit worthwhile, and how long to wait for them. */
function createPace(rowsMax: number, isParallel: boolean) {
  /** About how many there are at a time. */
  let callers = 0;
  let patienceMs = 0;
  let mergeMs = 0;
  return {
    /** This many waiting rows are worth a commit. */
    worthwhile: Math.min(worthwhileInParallel, rowsMax),

    /**
     * How long to wait for them; 0: for the rest of this turn of the event loop.
     * @param isBusy Whether commits are under way. One that takes twice as long as the last is not
     * waited for: it may wait for a lock, or its node hangs.
     */
    patienceMs: (isBusy: boolean) => (isBusy ? mergeMs : patienceMs),

    /**
     * If commits are fast, half of the callers share one while the other half is answered and comes
     * again: neither thread waits for the other. If a commit takes longer than that, all share it:
     * in two halves, each would wait for two commits. A lone caller has its commit at once.
     * @param waiting How many callers waited for an outcome at its end, including its own.
     */
    commitEnded(waiting: number, commitMs: number): void {
      if (isParallel) return;
      mergeMs = Math.min(2 * commitMs, patienceMsMax);
      callers = Math.max(waiting, callers * callersDecay);
      const untilBackMs = returnMs.base + returnMs.each * callers;
      const isSlow = commitMs > untilBackMs;
      patienceMs = isSlow ? Math.min(untilBackMs, patienceMsMax) : 0;
      this.worthwhile = Math.min(Math.ceil(isSlow ? callers : callers / 2), rowsMax);
    },
  };
}
