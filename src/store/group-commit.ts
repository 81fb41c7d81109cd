import { backoffMs } from "../backoff.ts";
import { type Cancellation, type NewPlant, overloaded, PlantError } from "../plant.ts";
import type { BatchEngine, RowOutcome } from "./engine.ts";
import type { CommitLimits, CommitObserver } from "./options.ts";
import { heapBytes, heapBytesMin, Line, type Share, Waiter, WaitingRoom } from "./waiting-room.ts";

/** Groups plants into commits, in a queue for each part of the database. */
export class GroupCommit {
  readonly #shared: Omit<QueueOptions, "share">;
  readonly #room: WaitingRoom;
  readonly #queues = new Map<string, CommitQueue>();
  #clock: NodeJS.Timeout | undefined;

  constructor(
    engine: BatchEngine,
    limits: CommitLimits,
    { watch, observer }: Pick<QueueOptions, "watch" | "observer">,
  ) {
    this.#shared = { engine, limits, watch, observer };
    this.#room = new WaitingRoom(limits, observer);
  }

  /**
   * @param signal Removes a waiting plant. Once its commit has begun, only the caller stops
   * waiting.
   * @throws The reason of the signal, at once; a {@link PlantError} `overloaded`, at once; or
   * `unavailable`, if the commit failed or did not return within the time of a caller.
   */
  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    this.#clock ??= setTimeout(this.#tick, tickMs).unref();
    return this.#queueOf(plant.id).submit(plant, signal);
  }

  /** Whether even the smallest plant of any part would be rejected now. */
  isFull(): boolean {
    return !this.#room.hasRoom(heapBytesMin);
  }

  /** Resolves when no caller waits. Commits that nobody waits for may be under way. */
  async drain(): Promise<void> {
    for (;;) {
      const callers = [...this.#queues.values()].flatMap((queue) => queue.callers());
      if (callers.length === 0) return;
      await Promise.allSettled(callers.map(({ outcome }) => outcome));
    }
  }

  /** One timer for all, so that a caller costs none. */
  readonly #tick = () => {
    const now = performance.now();
    const waits = [...this.#queues.values()].map((queue) => queue.tellLate(now));
    // Of a part in which nobody waits, nothing is known.
    const { since, error } = waits.reduce((one, other) => (one.since > other.since ? one : other));
    const { answerTimeoutMs: limitMs } = this.#shared.limits;
    this.#shared.watch.callersWait({ since, limitMs, error });
    const isWaiting = waits.some((wait) => wait.since < now);
    this.#clock = isWaiting ? setTimeout(this.#tick, tickMs).unref() : undefined;
  };

  #queueOf(id: bigint): CommitQueue {
    const part = this.#shared.engine.partOf(id);
    let queue = this.#queues.get(part);
    if (queue === undefined) {
      queue = new CommitQueue(part, { ...this.#shared, share: this.#room.openShare() });
      this.#queues.set(part, queue);
    }
    return queue;
  }
}

/** How much later than its time a caller may hear, in milliseconds. */
const tickMs = 100;

interface QueueOptions {
  readonly engine: BatchEngine;
  readonly limits: CommitLimits;
  readonly share: Share;
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

/**
 * Groups the plants of one part of a database into commits, in order of arrival. Plants that arrive
 * while the engine runs its maximum of commits share the next one. A commit with enough rows begins
 * at once, so that it is written while the rest of a burst is read. One with few rows may wait for
 * those under way. If the engine says that a commit may succeed later, its plants are retried
 * beside all others.
 */
class CommitQueue {
  readonly #part: string;
  readonly #options: QueueOptions;
  readonly #pace: Pace;
  readonly #waiting: Line;
  readonly #late: Line;
  /** Not a Set: V8 links its old tables to new ones, which keeps ended calls alive. */
  readonly #begun: (readonly Waiter[])[] = [];
  #isRetrying = false;
  /** Of the failures that were retried since the last success. */
  #outage: { begunAt: number; failedAt: number; error: unknown } | undefined;
  #isGathering = false;
  #timer: NodeJS.Timeout | undefined;
  #underWay = 0;
  #rowsUnderWay = 0;
  #endedAt = 0;

  constructor(part: string, options: QueueOptions) {
    const { engine, limits, share } = options;
    const isParallel = engine.commitsMax > 1 && !engine.mergesCommits;
    this.#part = part;
    this.#options = options;
    this.#waiting = new Line(share);
    this.#late = new Line(share);
    this.#pace = new Pace({ rowsMax: limits.batchRowsMax, isParallel });
  }

  submit(plant: NewPlant, signal?: Cancellation): Promise<RowOutcome> {
    const bytes = heapBytes(plant);
    const { share } = this.#options;
    if (!share.room.hasRoom(bytes, share)) return Promise.reject(overloaded());
    const waiter = new Waiter(plant, bytes, signal);
    this.#waiting.push(waiter);
    this.#gather();
    return waiter.outcome;
  }

  /**
   * Tells callers whose time is over. Plants whose commits have begun may be stored all the same.
   *
   * @returns Since when a caller waits, or `now`; and for what, as far as is known.
   */
  tellLate(now: number): { readonly since: number; readonly error: unknown } {
    const error = this.#outage?.error ?? tooSlow;
    let since = now;
    for (const waiter of this.callers()) {
      since = Math.min(since, waiter.since);
      const isOver = now - waiter.since >= this.#options.limits.answerTimeoutMs;
      if (isOver) waiter.leave(unavailable(notConfirmed, error));
    }
    return { since, error };
  }

  callers(): Waiter[] {
    const all = [this.#waiting.waiters, this.#late.waiters, ...this.#begun].flat();
    return all.filter(({ isSettled }) => !isSettled);
  }

  /** Begins commits that are worthwhile, or else one when the expected rows have come. */
  #gather(): void {
    const { commitsMax, commitsAhead } = this.#options.engine;
    while (this.#underWay < commitsMax + commitsAhead && this.#isWorthwhile()) this.#begin();
    if (this.#isGathering) return;
    if (this.#mayBegin()) {
      this.#isGathering = true;
      // Plants that arrive in the same turn of the event loop share a commit. Otherwise the first
      // of a burst would be committed alone, and the others would wait for it.
      const patienceMs = this.#pace.patienceMs(this.#underWay > 0);
      if (patienceMs > 0) this.#timer = setTimeout(this.#endGathering, patienceMs);
      else setImmediate(this.#endGathering);
    }
  }

  /** When a commit begins or ends, waiting plants have something else to wait for. */
  #stopGathering(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isGathering = false;
  }

  readonly #endGathering = () => {
    this.#isGathering = false;
    this.#timer = undefined;
    if (this.#mayBegin()) this.#begin();
    this.#gather();
  };

  /** Whether the next commit has enough rows or is full. */
  #isWorthwhile(): boolean {
    const { rows, bytes } = this.#waiting;
    if (rows === 0) return false;
    return rows >= this.#pace.worthwhile || bytes >= this.#options.limits.batchBytesMax;
  }

  #mayBegin(): boolean {
    return this.#waiting.rows > 0 && this.#underWay < this.#options.engine.commitsMax;
  }

  #begin(): void {
    if (this.#timer !== undefined) this.#stopGathering();
    const { batchRowsMax, batchBytesMax } = this.#options.limits;
    const batch = this.#waiting.take(batchRowsMax, batchBytesMax);
    this.#underWay++;
    this.#rowsUnderWay += batch.length;
    void this.#commit(batch).then(() => {
      this.#underWay--;
      this.#rowsUnderWay -= batch.length;
      if (this.#timer !== undefined) this.#stopGathering();
      this.#gather();
    });
  }

  /** @returns Whether it succeeded, apart from rows that cannot be stored. */
  async #commit(batch: readonly Waiter[]): Promise<boolean> {
    this.#begun.push(batch);
    try {
      const outcomes = await this.#observed(batch.map(({ plant }) => plant));
      if (outcomes.length !== batch.length) {
        throw new Error(`a commit of ${batch.length} rows had ${outcomes.length} outcomes`);
      }
      for (const [index, waiter] of batch.entries()) {
        const outcome = outcomes[index] as RowOutcome | Error;
        if (outcome instanceof Error) waiter.reject(unavailable(notStored, outcome));
        else waiter.resolve(outcome);
      }
      this.#outage = undefined;
      this.#options.watch.commitSucceeded();
      return true;
    } catch (error) {
      if (this.#options.engine.isOfRow(error)) return await this.#commitHalves(batch, error);
      this.#retryOrReject(batch, error);
      return false;
    } finally {
      this.#begun.splice(this.#begun.indexOf(batch), 1);
    }
  }

  /** Finds the row at fault, and rejects it alone. */
  async #commitHalves(batch: readonly Waiter[], error: unknown): Promise<boolean> {
    if (batch.length === 1) {
      batch[0]?.reject(unavailable(notStored, error));
      return true;
    }
    const middle = Math.ceil(batch.length / 2);
    let isDone = true;
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      const staying = half.filter(({ isSettled }) => !isSettled);
      if (staying.length > 0 && !(await this.#commit(staying))) isDone = false;
    }
    return isDone;
  }

  async #observed(plants: readonly NewPlant[]): Promise<readonly (RowOutcome | Error)[]> {
    const { engine, observer } = this.#options;
    const isAhead = this.#underWay > engine.commitsMax;
    const begunAt = performance.now();
    let isFailed = true;
    try {
      const outcomes = await engine.commit(plants, this.#part);
      isFailed = false;
      return outcomes;
    } catch (error) {
      isFailed = !engine.isOfRow(error);
      throw error;
    } finally {
      const now = performance.now();
      const durationMs = now - (isAhead ? Math.max(begunAt, this.#endedAt) : begunAt);
      this.#endedAt = now;
      this.#pace.commitEnded(this.#waiting.rows + this.#rowsUnderWay, durationMs);
      observer?.commitEnded({ rows: plants.length, durationMs, isFailed });
    }
  }

  #retryOrReject(batch: readonly Waiter[], error: unknown): void {
    const { engine, share, watch } = this.#options;
    if (engine.retries?.isSilent(error, this.#part) === true) this.#rejectWaiting(error);
    const retriedSince = this.#retriedSince(error);
    let isKept = false;
    for (const waiter of batch) {
      if (waiter.isSettled) continue;
      if (waiter.since > retriedSince && share.room.hasRoom(waiter.bytes, share)) {
        this.#late.push(waiter);
        isKept = true;
      } else {
        waiter.reject(unavailable(notConfirmed, error));
      }
    }
    // Also if all callers have left: who comes next would wait for nothing.
    if (isKept) watch.commitRetried(error);
    else watch.commitFailed(error);
    if (this.#late.rows > 0 && !this.#isRetrying) void this.#retry();
  }

  #rejectWaiting(error: unknown): void {
    for (const line of [this.#waiting, this.#late]) {
      for (const waiter of line.take(line.rows, line.bytes))
        waiter.reject(unavailable(notConfirmed, error));
    }
  }

  /** @returns Plants that came later are retried. In an outage that lasts, none are. */
  #retriedSince(error: unknown): number {
    const { retries } = this.#options.engine;
    if (retries?.mayHelp(error) !== true) return Number.POSITIVE_INFINITY;
    const now = performance.now();
    const limit = now - retries.retryLimitMs;
    const last = this.#outage;
    const begunAt = last !== undefined && last.failedAt >= limit ? last.begunAt : now;
    this.#outage = { begunAt, failedAt: now, error };
    return begunAt <= limit ? Number.POSITIVE_INFINITY : limit;
  }

  /** A single row may be the cause: each failure retries fewer rows at once, and others first. */
  async #retry(): Promise<void> {
    const { engine, limits } = this.#options;
    this.#isRetrying = true;
    let rowsMax = limits.batchRowsMax;
    for (let failures = 1; engine.retries !== undefined && this.#late.rows > 0; ) {
      if (failures > 0) await pause(backoffMs(failures, engine.retries));
      const batch = this.#late.take(rowsMax, limits.batchBytesMax);
      if (batch.length === 0) {
        // All callers have left. Who comes next would wait for nothing.
        if (this.#outage !== undefined) this.#options.watch.commitFailed(this.#outage.error);
        break;
      }
      const isDone = await this.#commit(batch);
      failures = isDone ? 0 : failures + 1;
      rowsMax = isDone ? limits.batchRowsMax : Math.ceil(batch.length / 2);
    }
    this.#isRetrying = false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
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
class Pace {
  readonly #rowsMax: number;
  readonly #isParallel: boolean;
  /** About how many there are at a time. */
  #callers = 0;
  /** This many waiting rows are worth a commit. */
  worthwhile: number;
  #patienceMs = 0;
  #mergeMs = 0;

  constructor({ rowsMax, isParallel }: { rowsMax: number; isParallel: boolean }) {
    this.#rowsMax = rowsMax;
    this.#isParallel = isParallel;
    this.worthwhile = Math.min(worthwhileInParallel, rowsMax);
  }

  /**
   * How long to wait for them; 0: for the rest of this turn of the event loop.
   *
   * @param isBusy Whether commits are under way. One that takes twice as long as the last is not
   * waited for: it may wait for a lock, or its node hangs.
   */
  patienceMs(isBusy: boolean): number {
    return isBusy ? this.#mergeMs : this.#patienceMs;
  }

  /**
   * If commits are fast, half of the callers share one while the other half is answered and comes
   * again: neither thread waits for the other. If a commit takes longer than that, all share it: in
   * two halves, each would wait for two commits. A lone caller has its commit at once.
   *
   * @param waiting How many callers waited for an outcome at its end, including its own.
   */
  commitEnded(waiting: number, commitMs: number): void {
    if (this.#isParallel) return;
    this.#mergeMs = Math.min(2 * commitMs, patienceMsMax);
    this.#callers = Math.max(waiting, this.#callers * callersDecay);
    const untilBackMs = returnMs.base + returnMs.each * this.#callers;
    const isSlow = commitMs > untilBackMs;
    this.#patienceMs = isSlow ? Math.min(untilBackMs, patienceMsMax) : 0;
    const wanted = isSlow ? this.#callers : this.#callers / 2;
    this.worthwhile = Math.min(Math.ceil(wanted), this.#rowsMax);
  }
}
