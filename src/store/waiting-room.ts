import { type AbortListener, type Cancellation, type NewPlant, textFields } from "../plant.ts";
import type { RowOutcome } from "./engine.ts";
import type { CommitLimits, CommitObserver } from "./options.ts";

/** Limits what waits for the commits of a store. */
export class WaitingRoom {
  readonly #limits: CommitLimits;
  readonly #observer: CommitObserver | undefined;
  #rows = 0;
  #bytes = 0;
  #shares = 0;

  constructor(limits: CommitLimits, observer: CommitObserver | undefined) {
    this.#limits = limits;
    this.#observer = observer;
  }

  /** For one more part of the database. All shares are equal, so that no part fills the room. */
  openShare(): Share {
    this.#shares++;
    return new Share(this);
  }

  /** Whether it has no room even for the smallest plant. */
  get isFull(): boolean {
    return !this.#holds(heapBytesMin);
  }

  #holds(bytes: number): boolean {
    const { waitingRowsMax, waitingBytesMax } = this.#limits;
    return this.#rows < waitingRowsMax && this.#bytes + bytes <= waitingBytesMax;
  }

  hasRoom(share: Share, bytes: number): boolean {
    const { waitingRowsMax, waitingBytesMax } = this.#limits;
    if (!this.#holds(bytes)) return false;
    if (share.rows >= Math.max(1, waitingRowsMax / this.#shares)) return false;
    // One plant may be larger than a share.
    return share.rows === 0 || share.bytes + bytes <= waitingBytesMax / this.#shares;
  }

  change(rows: number, bytes: number): void {
    this.#rows += rows;
    this.#bytes += bytes;
    this.#observer?.queueChanged(this.#rows, this.#bytes);
  }
}

/** What waits for one part of the database. */
export class Share {
  readonly #room: WaitingRoom;
  #rows = 0;
  #bytes = 0;

  constructor(room: WaitingRoom) {
    this.#room = room;
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#bytes;
  }

  hasRoom(bytes: number): boolean {
    return this.#room.hasRoom(this, bytes);
  }

  change(rows: number, bytes: number): void {
    this.#rows += rows;
    this.#bytes += bytes;
    this.#room.change(rows, bytes);
  }
}

/** Callers that wait, in order of arrival. */
export class Line {
  readonly #share: Share;
  /** Callers that gave up stay until their turn comes or until they are half of it. */
  #waiters: Waiter[] = [];
  #rows = 0;
  #bytes = 0;

  constructor(share: Share) {
    this.#share = share;
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(waiter: Waiter): void {
    waiter.line = this;
    this.#waiters.push(waiter);
    this.#change(1, waiter.bytes);
  }

  /** The plant of a caller that has given up is not written. */
  leave(waiter: Waiter): void {
    this.#change(-1, -waiter.bytes);
    if (this.#waiters.length > 2 * this.#rows) {
      this.#waiters = this.#waiters.filter(({ hasLeft }) => !hasLeft);
    }
  }

  /** Takes the first: as many as the limits allow, and at least one if there is one. */
  take(rowsMax: number, bytesMax: number): readonly Waiter[] {
    const batch: Waiter[] = [];
    let bytes = 0;
    let taken = 0;
    for (const waiter of this.#waiters) {
      if (batch.length === rowsMax) break;
      if (batch.length > 0 && bytes + waiter.bytes > bytesMax) break;
      taken++;
      if (waiter.hasLeft) continue;
      waiter.line = undefined;
      batch.push(waiter);
      bytes += waiter.bytes;
    }
    this.#waiters = this.#waiters.slice(taken);
    this.#change(-batch.length, -bytes);
    return batch;
  }

  #change(rows: number, bytes: number): void {
    this.#rows += rows;
    this.#bytes += bytes;
    this.#share.change(rows, bytes);
  }
}

/** A caller, with the plant it wants stored and its pending result. */
export class Waiter implements AbortListener {
  readonly plant: NewPlant;
  readonly bytes: number;
  /** Where it waits. Undefined during a commit. */
  line: Line | undefined;
  hasLeft = false;
  /** When a commit first failed that is tried again. */
  failedAt: number | undefined;
  readonly #signal: Cancellation | undefined;
  readonly #settled = Promise.withResolvers<RowOutcome>();

  constructor(plant: NewPlant, bytes: number, signal: Cancellation | undefined) {
    this.plant = plant;
    this.bytes = bytes;
    this.#signal = signal;
    signal?.addEventListener("abort", this);
  }

  get outcome(): Promise<RowOutcome> {
    return this.#settled.promise;
  }

  /** The caller's signal has aborted. */
  handleEvent(): void {
    this.hasLeft = true;
    this.line?.leave(this);
    this.reject(this.#signal?.reason);
  }

  resolve(outcome: RowOutcome): void {
    this.#signal?.removeEventListener("abort", this);
    this.#settled.resolve(outcome);
  }

  reject(reason: unknown): void {
    this.#signal?.removeEventListener("abort", this);
    this.#settled.reject(reason);
  }
}

/** For a plant without any text. */
export const heapBytesMin = 512;

/**
 * The most heap that a waiting plant may hold, in bytes: two for each UTF-16 code unit, plus the
 * objects around it. An upper bound, so that the limits hold.
 */
export function heapBytes(plant: NewPlant): number {
  let units = 0;
  for (const field of textFields) units += plant[field]?.length ?? 0;
  return heapBytesMin + 2 * units;
}
