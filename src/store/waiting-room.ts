import { type AbortListener, type Cancellation, type NewPlant, textFields } from "../plant.ts";
import type { RowOutcome } from "./engine.ts";
import type { CommitLimits, CommitObserver } from "./options.ts";

/** Rows, and the most heap that they may hold. */
interface Amount {
  rows: number;
  bytes: number;
}

export type WaitingRoom = ReturnType<typeof createWaitingRoom>;

export function createWaitingRoom(
  { waitingRowsMax, waitingBytesMax }: CommitLimits,
  observer: CommitObserver | undefined,
) {
  const all: Amount = { rows: 0, bytes: 0 };
  let shares = 0;
  return {
    /** For one more part of the database. All shares are equal, so that no part fills the room. */
    openShare(): Amount {
      shares++;
      return { rows: 0, bytes: 0 };
    },
    /** Whether it has room for a plant, and so has its share. */
    hasRoom(bytes: number, share: Readonly<Amount> = { rows: 0, bytes: 0 }): boolean {
      if (all.rows >= waitingRowsMax || all.bytes + bytes > waitingBytesMax) return false;
      if (share.rows >= Math.max(1, waitingRowsMax / shares)) return false;
      // One plant may be larger than a share.
      return share.rows === 0 || share.bytes + bytes <= waitingBytesMax / shares;
    },
    /** Counts rows that come, or go if negative. */
    change(line: Line, rows: number, bytes: number): void {
      for (const amount of [line, line.share, all]) {
        amount.rows += rows;
        amount.bytes += bytes;
      }
      observer?.queueChanged(all.rows, all.bytes);
    },
  };
}

export class Line implements Amount {
  readonly room: WaitingRoom;
  readonly share: Amount;
  rows = 0;
  bytes = 0;
  /** Callers that gave up stay until their turn comes or until they are half of it. */
  waiters: Waiter[] = [];

  constructor(room: WaitingRoom, share: Amount) {
    this.room = room;
    this.share = share;
  }

  push(waiter: Waiter): void {
    waiter.line = this;
    this.waiters.push(waiter);
    this.room.change(this, 1, waiter.bytes);
  }

  /** The plant of a caller that has given up is not written. */
  leave(waiter: Waiter): void {
    this.room.change(this, -1, -waiter.bytes);
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
    this.room.change(this, -batch.length, -bytes);
    return batch;
  }
}

export class Waiter implements AbortListener {
  readonly plant: NewPlant;
  readonly bytes: number;
  /** Where it waits. Undefined during a commit. */
  line: Line | undefined;
  isSettled = false;
  readonly since = performance.now();
  readonly #signal: Cancellation | undefined;
  readonly #settled = Promise.withResolvers<RowOutcome>();
  readonly outcome = this.#settled.promise;

  constructor(plant: NewPlant, bytes: number, signal: Cancellation | undefined) {
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
  let bytes = heapBytesMin;
  for (const field of textFields) bytes += 2 * (plant[field]?.length ?? 0);
  return bytes;
}
