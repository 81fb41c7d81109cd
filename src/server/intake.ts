import type { Socket } from "node:net";

/** Requests that may begin in one turn of the event loop; what a connection has sent besides comes on top. */
const turnRequestsMax = 256;

/** Who begins more than that in a turn has had a share of it. */
const shareMax = 32;

/** How long after its last request a connection is one that may send many: to stop it costs a little. */
const busyMs = 60_000;

/**
 * Bounds the requests that begin in one turn of the event loop.
 *
 * In one turn, Node reads all that every connection of HTTP/2 has sent: where some dozens send
 * all they may, tens of thousands of requests begin before one is answered, or one commit is
 * heard of. They take memory, make everyone wait, and fill the queue of the store, which then
 * refuses what it could have taken a moment later. So once enough have begun in a turn, nothing
 * is read any more until the next; what was sent waits in the system's buffers, and TCP holds
 * its sender back. Whoever has had a share then rests until all others have had theirs.
 */
export class Intake {
  /** Who may send requests, and when each last did; those that sent many are at the end. */
  readonly #busy = new Map<Socket, number>();
  /** Who has had a share, and is not read until all others have. */
  readonly #resting = new Set<Socket>();
  /** Who has had a share in this turn. */
  readonly #served = new Set<Socket>();
  #begun = 0;
  /** Whose requests are being read, and how many of them. */
  #reading: Socket | undefined;
  #read = 0;
  #isScheduled = false;
  #now = performance.now();
  #forgotAt = this.#now;

  add(socket: Socket): void {
    this.#busy.set(socket, this.#now);
    if (this.#isFull) stopReading(socket);
  }

  remove(socket: Socket): void {
    this.#busy.delete(socket);
    this.#resting.delete(socket);
    this.#served.delete(socket);
  }

  /** A connection has begun a request. */
  take(socket: Socket): void {
    if (socket !== this.#reading) this.#turnTo(socket);
    this.#read++;
    this.#begun++;
    if (this.#begun === turnRequestsMax) for (const one of this.#busy.keys()) stopReading(one);
    this.#schedule();
  }

  get #isFull(): boolean {
    return this.#begun >= turnRequestsMax;
  }

  #turnTo(socket: Socket | undefined): void {
    if (this.#reading !== undefined && this.#read > shareMax) this.#served.add(this.#reading);
    this.#reading = socket;
    this.#read = 0;
    if (socket === undefined) return;
    this.add(socket);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#isScheduled = false;
    this.#turnTo(undefined);
    if (this.#isFull) this.#share();
    else this.#readAll(this.#resting);
    this.#served.clear();
    this.#begun = 0;
    this.#forget();
    if (this.#resting.size > 0) this.#schedule();
  }

  /** Lets those go on who wait for their share; if nobody does, everyone. */
  #share(): void {
    for (const socket of this.#served) {
      this.#resting.add(socket);
      this.#busy.delete(socket);
      this.#busy.set(socket, this.#now);
    }
    const waiting = [...this.#busy.keys()].filter((socket) => !this.#resting.has(socket));
    if (waiting.length === 0) this.#readAll(this.#busy.keys());
    else for (const socket of waiting) startReading(socket);
  }

  #readAll(sockets: Iterable<Socket>): void {
    for (const socket of sockets) startReading(socket);
    this.#resting.clear();
  }

  #forget(): void {
    this.#now = performance.now();
    if (this.#now < this.#forgotAt + busyMs) return;
    this.#forgotAt = this.#now;
    for (const [socket, at] of this.#busy) {
      if (at < this.#now - busyMs && !this.#resting.has(socket)) this.#busy.delete(socket);
    }
  }
}

/**
 * A session of HTTP/2 takes over what a socket is read by, and `Socket.pause()` does nothing from
 * then on: this does, and is not documented. Where Node has it no more, all is read as ever.
 */
interface Readable {
  readonly _handle?: { readStart?(): void; readStop?(): void } | null;
}

function stopReading(socket: Socket & Readable): void {
  socket._handle?.readStop?.();
}

function startReading(socket: Socket & Readable): void {
  socket._handle?.readStart?.();
}
