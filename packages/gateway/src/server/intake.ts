import type { Socket } from "node:net";

/** Requests of each connection in a turn of the event loop that are not counted. */
export const freeRequests = 4;

/** Further requests that may begin in one turn, plus those that were read with the last of them. */
const turnRequestsMax = 64;

const turnConnectionsMax = 64;

/**
 * Connections with more than a few requests in their first bytes that start in one turn. All these
 * requests are read at once: 100 connections with 100 requests each took 0.1 s of CPU in one turn,
 * and now 25 ms. Over TLS, handshakes spread them.
 */
const turnStartsMax = 2;

/** Requests of all connections served in one turn. One that has more may begin one of them. */
const servedTogether = 128;

/** How long after its last request a connection is expected to send more. */
const recentMs = 10_000;

/** The least time between two pauses of all connections, for each of them: pauses cost. */
const stopIntervalMs = 0.1;

/**
 * Limits the requests that begin in one turn of the event loop.
 *
 * In one turn, Node reads everything that every HTTP/2 connection has sent. With dozens of busy
 * connections, tens of thousands of requests begin before one is answered. They take memory, delay
 * everyone, and fill the queue of the store, which then rejects requests that it could have served
 * a moment later. So once enough requests have begun in a turn, connections that sent many are
 * paused, and resumed in that order when few of the requests that were read wait. Meanwhile, TCP
 * flow control slows these clients down: with 24,600 gRPC calls at a time on 96 connections, 32,000
 * a second are served, and 19,000 if all that wait have been read. A connection that sends a few at
 * a time is read in every turn: beside 25,600 gRPC calls on 100 connections, a lone REST caller
 * waited up to 0.3 s (p99), and 2.4 s without an intake.
 */
export class Intake {
  /** Requests that were read. While it is behind, no connection is started or resumed. */
  readonly requests = new TurnTotal(servedTogether);
  /** Connections that wait for their start, with it. */
  readonly #unstarted = new Map<Socket, () => void>();
  #hasStarted = false;
  /** Open connections, with the time of the last request of each. */
  readonly #asked = new Map<Socket, number>();
  /** Those that sent many when they were last read. */
  readonly #busy = new Set<Socket>();
  /** Paused busy connections, in the order in which they are resumed. */
  readonly #waiting = new Set<Socket>();
  /** Resumed before them: the others, and those whose last turn was full before they were read. */
  readonly #overdue = new Set<Socket>();
  readonly #resumed = new Set<Socket>();
  /** Adapted so that few become overdue: resumed connections are not always read first. */
  #resumedMax = turnConnectionsMax;
  readonly #served = new Set<Socket>();
  #counted = 0;
  #reading: Socket | undefined;
  #read = 0;
  #isScheduled = false;
  #now = 0;
  #stoppedAllAt = Number.NEGATIVE_INFINITY;

  /** Starts a connection in its turn, which then may add it. It is not read before. */
  start(socket: Socket, begin: () => void): void {
    stopReading(socket);
    this.#unstarted.set(socket, begin);
    this.#schedule();
  }

  add(socket: Socket): void {
    this.#asked.set(socket, performance.now());
  }

  remove(socket: Socket): void {
    this.#asked.delete(socket);
    for (const sockets of [this.#busy, this.#waiting, this.#overdue, this.#resumed, this.#served]) {
      sockets.delete(socket);
    }
  }

  /** A request of a connection has begun. @param waits Whether it is read, but not served yet. */
  take(socket: Socket, waits: boolean): void {
    this.#schedule();
    if (socket !== this.#reading) {
      this.#reading = socket;
      this.#read = 0;
      this.#asked.set(socket, this.#now);
      this.#busy.delete(socket);
    }
    if (++this.#read <= freeRequests && !waits) return;
    this.#served.add(socket);
    this.#busy.add(socket);
    // What was read while this is behind would keep it behind.
    if (++this.#counted < turnRequestsMax && !(waits && this.requests.isBehind)) return;
    if (this.#counted === turnRequestsMax) this.#fill();
    // Node reads up to 32 chunks of 64 KiB in a row. The current one is still served.
    if (!this.#waiting.has(socket)) stop(socket, this.#waiting);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#now = performance.now();
    setImmediate(() => this.#endTurn());
  }

  /** The turn is full. Connections that were not read yet wait for another turn. */
  #fill(): void {
    const isRead = (socket: Socket) => this.#asked.get(socket) === this.#now;
    for (const socket of this.#resumed) {
      if (!isRead(socket)) stop(socket, this.#overdue);
    }
    if (this.#overdue.size > 0) this.#resumedMax = Math.ceil(this.#resumedMax / 2);
    // Busy connections are paused already. The others send few requests.
    const intervalMs = stopIntervalMs * this.#asked.size;
    if (this.#isAnyStopped || this.#now < this.#stoppedAllAt + intervalMs) return;
    this.#stoppedAllAt = this.#now;
    for (const [socket, askedAt] of this.#asked) {
      const isRecent = askedAt >= this.#now - recentMs;
      if (!isRecent || isRead(socket)) continue;
      stop(socket, this.#busy.has(socket) ? this.#waiting : this.#overdue);
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
        this.#overdue.delete(socket); // it was read before the pause
        stop(socket, this.#waiting);
      }
    }
    // A turn in which nobody was resumed says nothing about that.
    if (!isFull && this.#resumed.size > 0) {
      this.#resumedMax = Math.min(turnConnectionsMax, 2 * this.#resumedMax);
    }
    this.#served.clear();
    this.#counted = 0;
    this.#reading = undefined;
    this.#resumed.clear();
    if (!this.requests.isBehind) {
      // What begins may fill its turn before anyone who was resumed is read.
      this.#hasStarted = !(this.#hasStarted && this.#isAnyStopped) && this.#startSome();
      if (!this.#hasStarted) this.#resume();
    }
    if (this.#isAnyStopped || this.#unstarted.size > 0) this.#schedule();
  }

  #startSome(): boolean {
    let started = 0;
    for (const [socket, begin] of this.#unstarted) {
      this.#unstarted.delete(socket);
      if (socket.destroyed) continue;
      startReading(socket);
      begin();
      if (++started === turnStartsMax) break;
    }
    return started > 0;
  }

  #resume(): void {
    for (const stopped of [this.#overdue, this.#waiting]) {
      for (const socket of stopped) {
        if (this.#resumed.size >= this.#resumedMax) return;
        stopped.delete(socket);
        this.#resumed.add(socket);
        startReading(socket);
      }
    }
  }
}

function stop(socket: Socket, stopped: Set<Socket>): void {
  stopped.add(socket);
  stopReading(socket);
}

/** Also while an HTTP/2 session has the socket. */
function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop?.();
}

function startReading(socket: Socket): void {
  handleOf(socket)?.readStart?.();
}

/**
 * The undocumented handle of a socket. After an HTTP/2 session has taken over a socket,
 * `Socket.pause()` has no effect, but these methods do. Without them, nothing is paused.
 */
interface Handle {
  readStart?(): void;
  readStop?(): void;
}

function handleOf(socket: Socket & { readonly _handle?: Handle | null }): Handle | undefined {
  return socket._handle ?? undefined;
}

/**
 * Spreads bursts over turns of the event loop: serves a few items in each turn, in order. Beside
 * 512 gRPC calls on 2 connections, a lone REST caller waited up to 63 ms (p99), and 353 ms without
 * turns.
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
   * @param all The limit for all of them together. Beyond it, each serves a few that arrive, or one
   * that waits.
   * @param serve Returns whether there was anything to do.
   */
  constructor(servedMax: number, all: TurnTotal, serve: (item: T) => boolean) {
    this.#servedMax = servedMax;
    this.#all = all;
    this.#serve = serve;
  }

  /** @returns whether it was served at once; false if it waits. */
  take(item: T): boolean {
    if (!this.#isCounting) this.#count();
    if (this.#waiting.length > 0 || !this.#mayServe(freeRequests)) {
      this.#waiting.push(item);
      this.#all.waiting++;
      return false;
    }
    this.#serveOne(item);
    return true;
  }

  #mayServe(freeMax: number): boolean {
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
    this.#all.beginTurn();
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#isCounting = false;
    this.#served = 0;
    if (this.#waiting.length > 0) this.#count();
    while (this.#waiting.length > 0 && this.#mayServe(1)) {
      this.#all.waiting--;
      this.#serveOne(this.#waiting.shift() as T);
    }
  };
}

/** Counts the items of all `Turns` together: those served in one turn, and those that wait. */
export class TurnTotal {
  readonly #max: number;
  waiting = 0;
  #served = 0;
  #isCounting = false;

  constructor(max: number) {
    this.#max = max;
  }

  get isReached(): boolean {
    return this.#served >= this.#max;
  }

  /** Whether more wait than one turn may serve. */
  get isBehind(): boolean {
    return this.waiting > this.#max;
  }

  /** Call before the end of the turn is scheduled: it counts anew by then. */
  beginTurn(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    setImmediate(() => {
      this.#isCounting = false;
      this.#served = 0;
    });
  }

  count(): void {
    this.#served++;
  }
}
