import type { CommitObserver } from "./commit-observer.ts";
import { heapBytesMin } from "./heap-bytes.ts";
import type { CommitLimits } from "./options.ts";

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
