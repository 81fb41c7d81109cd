import { type AbortListener, type Cancellation, type NewPlant, textFields } from "../plant.ts";
import type { RowOutcome } from "./engine.ts";
import type { CommitLimits, CommitObserver } from "./options.ts";

/** Rows, and the most heap that they may hold. */
interface Amount {
  rows: number;
  bytes: number;
}

/** Limits what waits for the commits of a store. */
export class WaitingRoom {
  readonly #limits: CommitLimits;
  readonly #observer: CommitObserver | undefined;
  readonly #all: Amount = { rows: 0, bytes: 0 };
  #shares = 0;

  constructor(limits: CommitLimits, observer: CommitObserver | undefined) {
    this.#limits = limits;
    this.#observer = observer;
  }

  /** For one more part of the database. All shares are equal, so that no part fills the room. */
  openShare(): Share {
    this.#shares++;
    return { room: this, rows: 0, bytes: 0 };
  }

  /** Whether it has room for a plant, and so has its share. */
  hasRoom(bytes: number, share: Readonly<Amount> = { rows: 0, bytes: 0 }): boolean {
    const { waitingRowsMax, waitingBytesMax } = this.#limits;
    const { rows, bytes: held } = this.#all;
    if (rows >= waitingRowsMax || held + bytes > waitingBytesMax) return false;
    if (share.rows >= Math.max(1, waitingRowsMax / this.#shares)) return false;
    // One plant may be larger than a share.
    return share.rows === 0 || share.bytes + bytes <= waitingBytesMax / this.#shares;
  }

  /** Counts rows that come, or go if negative. */
  change(line: Line, rows: number, bytes: number): void {
    for (const amount of [line, line.share, this.#all]) {
      amount.rows += rows;
      amount.bytes += bytes;
    }
    this.#observer?.queueChanged(this.#all.rows, this.#all.bytes);
  }
}

/** What waits for one part of the database. */
export interface Share extends Amount {
  readonly room: WaitingRoom;
}

export class Line implements Amount {
  readonly share: Share;
  rows = 0;
  bytes = 0;
  /** Callers that gave up stay until their turn comes or until they are half of it. */
  waiters: Waiter[] = [];

  constructor(share: Share) {
    this.share = share;
  }

  push(waiter: Waiter): void {
    waiter.line = this;
    this.waiters.push(waiter);
    this.share.room.change(this, 1, waiter.bytes);
  }

  /** The plant of a caller that has given up is not written. */
  leave(waiter: Waiter): void {
    this.share.room.change(this, -1, -waiter.bytes);
    if (this.waiters.length > 2 * this.rows) {
      this.waiters = this.waiters.filter(({ isSettled }) => !isSettled);
    }
  }

  /** Takes the first: as many as the limits allow, and at least one if there is one. */
  take(rowsMax: number, bytesMax: number): readonly Waiter[] {
    const batch: Waiter[] = [];
    let bytes = 0;
    let taken = 0;
    for (const waiter of this.waiters) {
      if (batch.length === rowsMax) break;
      if (batch.length > 0 && bytes + waiter.bytes > bytesMax) break;
      taken++;
      if (waiter.isSettled) continue;
      waiter.line = undefined;
      batch.push(waiter);
      bytes += waiter.bytes;
    }
    this.waiters = this.waiters.slice(taken);
    this.share.room.change(this, -batch.length, -bytes);
    return batch;
  }
}

/** A caller, with its plant. */
export class Waiter implements AbortListener {
  readonly plant: NewPlant;
  readonly bytes: number;
  /** Where it waits. Undefined during a commit. */
  line: Line | undefined;
  isSettled = false;
  readonly since = performance.now();
  readonly #signal: Cancellation | undefined;
  readonly outcome: Promise<RowOutcome>;
  readonly #settled = Promise.withResolvers<RowOutcome>();

  constructor(plant: NewPlant, bytes: number, signal: Cancellation | undefined) {
    this.outcome = this.#settled.promise;
    this.plant = plant;
    this.bytes = bytes;
    this.#signal = signal;
    signal?.addEventListener("abort", this);
  }

  handleEvent(): void {
    this.leave(this.#signal?.reason);
  }

  /** Its plant is not written, unless its commit has begun. */
  leave(reason: unknown): void {
    this.reject(reason);
    this.line?.leave(this);
  }

  resolve(outcome: RowOutcome): void {
    this.isSettled = true;
    this.#signal?.removeEventListener("abort", this);
    this.#settled.resolve(outcome);
  }

  reject(reason: unknown): void {
    this.isSettled = true;
    this.#signal?.removeEventListener("abort", this);
    this.#settled.reject(reason);
  }
}

/** For a plant without any text. */
export const heapBytesMin = 512;

/** An upper bound: two bytes for each UTF-16 code unit, and the objects of a plant. */
export function heapBytes(plant: NewPlant): number {
  let units = 0;
  for (const field of textFields) units += plant[field]?.length ?? 0;
  return heapBytesMin + 2 * units;
}
