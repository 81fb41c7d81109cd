import type { Socket } from "node:net";

/** Requests of each connection that are not counted in a turn of the event loop. */
const freeRequests = 4;

/** Further requests that may begin in one turn, plus what was read with the last of them. */
const turnRequestsMax = 64;

/** The most connections that are resumed in one turn. */
const turnConnectionsMax = 64;

/** How long after its last request a connection is expected to send more. */
const recentMs = 10_000;

/** All of these are paused at most once in this time per connection, because each pause costs a little. */
const stopIntervalMs = 0.1;

/**
 * Bounds the requests that begin in one turn of the event loop.
 *
 * In one turn, Node reads all that every connection of HTTP/2 has sent: where some dozens send
 * all they may, tens of thousands of requests begin before one is answered, or one commit is
 * heard of. They take memory, make everyone wait, and fill the queue of the store, which then
 * refuses what it could have taken a moment later. So once enough have begun in a turn, those
 * that sent many are not read until their turn comes again, in the order in which they were
 * stopped. What they send meanwhile waits in the system's buffers, and TCP holds them back.
 * A connection that sends a few at a time is read in every turn: beside 25,600 gRPC calls on 100
 * connections, a lone REST caller waited up to 0.3 s (p99), and 2.4 s without an intake.
 */
export class Intake {
  /** Open connections, and when each last began a request. */
  readonly #asked = new Map<Socket, number>();
  /** Not read, in the order in which they will be again. */
  readonly #waiting = new Set<Socket>();
  /** Before those: they were to be read in a turn in which others had brought enough. */
  readonly #overdue = new Set<Socket>();
  /** Read again in this turn. */
  readonly #resumed = new Set<Socket>();
  /** How many are, so that few are overdue: whose turn has come is not read first if others are. */
  #resumedMax = turnConnectionsMax;
  /** Who has begun more in this turn than is free. */
  readonly #served = new Set<Socket>();
  #counted = 0;
  /** Whose requests are being read, and how many of them. */
  #reading: Socket | undefined;
  #read = 0;
  #isScheduled = false;
  #now = 0;
  #stoppedAllAt = Number.NEGATIVE_INFINITY;

  add(socket: Socket): void {
    this.#asked.set(socket, performance.now());
  }

  remove(socket: Socket): void {
    this.#asked.delete(socket);
    for (const sockets of [this.#waiting, this.#overdue, this.#resumed, this.#served]) {
      sockets.delete(socket);
    }
  }

  /** A connection that was added has begun a request. */
  take(socket: Socket): void {
    this.#schedule();
    if (socket !== this.#reading) {
      this.#reading = socket;
      this.#read = 0;
      this.#asked.set(socket, this.#now);
    }
    if (++this.#read <= freeRequests) return;
    this.#served.add(socket);
    if (++this.#counted < turnRequestsMax) return;
    if (this.#counted === turnRequestsMax) this.#fill();
    // Node reads up to 32 pieces of 64 KiB in a row; the one that has come is served.
    if (!this.#waiting.has(socket)) stop(socket, this.#waiting);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#now = performance.now();
    setImmediate(() => this.#endTurn());
  }

  /** Enough have begun: whoever has not been read yet waits for another turn. */
  #fill(): void {
    for (const socket of this.#resumed) {
      if (!this.#served.has(socket)) stop(socket, this.#overdue);
    }
    if (this.#overdue.size > 0) this.#resumedMax = Math.ceil(this.#resumedMax / 2);
    // Those that send many wait already, and who does not sends a few.
    const intervalMs = stopIntervalMs * this.#asked.size;
    if (this.#isAnyStopped || this.#now < this.#stoppedAllAt + intervalMs) return;
    this.#stoppedAllAt = this.#now;
    for (const [socket, askedAt] of this.#asked) {
      const isRecent = askedAt >= this.#now - recentMs;
      if (isRecent && !this.#served.has(socket)) stop(socket, this.#waiting);
    }
  }

  get #isAnyStopped(): boolean {
    return this.#waiting.size > 0 || this.#overdue.size > 0;
  }

  #endTurn(): void {
    this.#isScheduled = false;
    const isFull = this.#counted >= turnRequestsMax;
    if (isFull || this.#isAnyStopped) {
      for (const socket of this.#served) {
        this.#overdue.delete(socket); // what it had sent came all the same
        stop(socket, this.#waiting);
      }
    }
    if (!isFull) this.#resumedMax = Math.min(turnConnectionsMax, 2 * this.#resumedMax);
    this.#served.clear();
    this.#counted = 0;
    this.#reading = undefined;
    this.#resume();
    if (this.#isAnyStopped) this.#schedule();
  }

  #resume(): void {
    this.#resumed.clear();
    for (const stopped of [this.#overdue, this.#waiting]) {
      for (const socket of stopped) {
        if (this.#resumed.size >= this.#resumedMax) return;
        stopped.delete(socket);
        this.#resumed.add(socket);
        handleOf(socket)?.readStart?.();
      }
    }
  }
}

function stop(socket: Socket, stopped: Set<Socket>): void {
  stopped.add(socket);
  handleOf(socket)?.readStop?.();
}

/**
 * A session of HTTP/2 takes over what a socket is read by, and `Socket.pause()` does nothing from
 * then on: this does, and is not documented. Where Node has it no more, all is read as ever.
 */
interface Handle {
  readStart?(): void;
  readStop?(): void;
}

function handleOf(socket: Socket & { readonly _handle?: Handle | null }): Handle | undefined {
  return socket._handle ?? undefined;
}

/**
 * What there may be much of at once, served a little in each turn of the event loop: what is beyond
 * that waits, in its order, while others have their turns. Beside 512 gRPC calls on 2 connections, a
 * lone REST caller waited up to 63 ms (p99), and 353 ms without turns.
 */
export class Turns<T> {
  readonly #all: TurnTotal;
  readonly #servedMax: number;
  readonly #serve: (item: T) => boolean;
  readonly #waiting: T[] = [];
  #served = 0;
  #isCounting = false;

  /**
   * @param servedMax In one turn.
   * @param all What is served of all, beyond a few each.
   * @param serve Tells whether there was anything to do.
   */
  constructor(servedMax: number, all: TurnTotal, serve: (item: T) => boolean) {
    this.#servedMax = servedMax;
    this.#all = all;
    this.#serve = serve;
  }

  /** @returns whether it was served at once; false if it waits. */
  take(item: T): boolean {
    if (!this.#isCounting) this.#count();
    if (this.#waiting.length > 0 || !this.#mayServe()) {
      this.#waiting.push(item);
      return false;
    }
    this.#serveOne(item);
    return true;
  }

  #mayServe(): boolean {
    if (this.#served >= this.#servedMax) return false;
    return this.#served < freeMax || !this.#all.isReached;
  }

  #serveOne(item: T): void {
    if (!this.#serve(item)) return;
    this.#served++;
    this.#all.count();
  }

  #count(): void {
    this.#isCounting = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#isCounting = false;
    this.#served = 0;
    if (this.#waiting.length > 0) this.#count();
    while (this.#waiting.length > 0 && this.#mayServe()) {
      this.#serveOne(this.#waiting.shift() as T);
    }
  };
}

/** So many of each may always be served in a turn. */
const freeMax = 4;

/** Counts what is served in one turn of all that have turns. */
export class TurnTotal {
  readonly #max: number;
  #served = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isReached(): boolean {
    return this.#served >= this.#max;
  }

  count(): void {
    if (this.#served++ === 0) setImmediate(() => (this.#served = 0));
  }
}
