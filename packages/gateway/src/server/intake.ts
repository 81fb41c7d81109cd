import type { Socket } from "node:net";

/** Requests of each connection in a turn of the event loop that are not counted. */
export const freeRequests = 4;

/** Further requests that may begin in one turn, plus those that were read with the last of them. */
const turnRequestsMax = 64;
const turnConnectionsMax = 64;

/**
 * Connections with more than a few requests in their first bytes that start in one turn: 100 with 100
 * requests each took 0.1 s of CPU in one turn, and now 25 ms. Over TLS, handshakes spread them.
 */
const turnStartsMax = 2;

/**
 * Requests of one connection served in one turn. Node emits all requests in 64 KiB, often hundreds,
 * before anyone else has a turn. In a flood of resets, most that wait are cancelled by their turn.
 */
const servedAtOnce = 32;

/** Requests of all connections served in one turn. One that has more may begin one of them. */
const servedTogether = 128;

/** How long after its last request a connection is expected to send more. */
const recentMs = 10_000;

/** The least time between two pauses of all connections, for each of them: pauses cost. */
const stopIntervalMs = 0.1;

/** A connection, and its requests. */
export interface Line<T> {
  readonly socket: Socket;
  /** Returns whether there was anything to do. */
  readonly serve: (request: T) => boolean;
  readonly waiting: T[];
  /** The turn in which it last sent a request, the number of those, and when that was. */
  askedIn: number;
  asked: number;
  askedAt: number;
  /** The turn in which one of its requests was last served, and the number of those. */
  servedIn: number;
  served: number;
  /** Whether it sent many when it was last read. */
  isBusy: boolean;
}

/**
 * Limits the requests that begin, and those that are served, in one turn of the event loop.
 *
 * In one turn, Node reads everything that every HTTP/2 connection has sent. With dozens of busy
 * connections, tens of thousands of requests begin before one is answered. They take memory, delay
 * everyone, and fill the queue of the store. So once enough requests have begun in a turn, connections
 * that sent many are paused, and resumed in that order when few of the requests that were read wait.
 * With 24,600 gRPC calls at a time on 96 connections, 32,000 a second are served, and 19,000 if all
 * that wait have been read. A connection that sends a few at a time is read in every turn: beside
 * 25,600 gRPC calls on 100 connections, a lone REST caller waited 0.3 s (p99), and 2.4 s without.
 *
 * Bursts that have been read are spread over turns, too. Beside 512 gRPC calls on 2 connections, a
 * lone REST caller waited 63 ms (p99), and 353 ms without that.
 */
export class Intake<T> {
  /** Connections that wait for their start, with it. */
  readonly #unstarted = new Map<Socket, () => void>();
  #hasStarted = false;
  readonly #open = new Set<Line<T>>();
  /** Those whose requests wait, and the number of these. While it is large, none is started or resumed. */
  readonly #queued = new Set<Line<T>>();
  #waitingRequests = 0;
  /** Paused busy connections, in the order in which they are resumed. */
  readonly #waiting = new Set<Line<T>>();
  /** Resumed before them: the others, and those whose last turn was full before they were read. */
  readonly #overdue = new Set<Line<T>>();
  readonly #resumed = new Set<Line<T>>();
  /** Adapted so that few become overdue: resumed connections are not always read first. */
  #resumedMax = turnConnectionsMax;
  /** Those that have sent many in this turn, and the number of their requests. */
  readonly #counted = new Set<Line<T>>();
  #count = 0;
  #served = 0;
  #turn = 0;
  #isScheduled = false;
  #now = 0;
  #stoppedAllAt = Number.NEGATIVE_INFINITY;

  /** Starts a connection in its turn, which then may open its line. It is not read before. */
  start(socket: Socket, begin: () => void): void {
    handleOf(socket)?.readStop?.();
    this.#unstarted.set(socket, begin);
    this.#schedule();
  }

  open(socket: Socket, serve: Line<T>["serve"]): Line<T> {
    const askedAt = performance.now();
    const counts = { askedIn: -1, asked: 0, askedAt, servedIn: -1, served: 0, isBusy: false };
    const line = { socket, serve, waiting: [], ...counts };
    this.#open.add(line);
    return line;
  }

  /** What waits is served all the same, if there is anything to do. */
  close(line: Line<T>): void {
    for (const lines of [this.#open, this.#waiting, this.#overdue, this.#resumed, this.#counted]) {
      lines.delete(line);
    }
  }

  /** @returns whether it was served at once; false if it waits. */
  take(line: Line<T>, request: T): boolean {
    this.#schedule();
    if (line.askedIn !== this.#turn) {
      line.askedIn = this.#turn;
      line.asked = 0;
      line.askedAt = this.#now;
      line.isBusy = false;
    }
    const waits = line.waiting.length > 0 || !this.#mayServe(line, freeRequests);
    if (waits) {
      line.waiting.push(request);
      this.#queued.add(line);
      this.#waitingRequests++;
    } else this.#serve(line, request);
    if (++line.asked > freeRequests || waits) this.#countOne(line, waits);
    return !waits;
  }

  #countOne(line: Line<T>, waits: boolean): void {
    this.#counted.add(line);
    line.isBusy = true;
    // What was read while this is behind would keep it behind.
    if (++this.#count < turnRequestsMax && !(waits && this.#isBehind)) return;
    if (this.#count === turnRequestsMax) this.#fill();
    // Node reads up to 32 chunks of 64 KiB in a row. The current one is still served.
    if (!this.#waiting.has(line)) stop(line, this.#waiting);
  }

  #mayServe(line: Line<T>, freeMax: number): boolean {
    if (line.servedIn !== this.#turn) {
      line.servedIn = this.#turn;
      line.served = 0;
    }
    if (line.served >= servedAtOnce) return false;
    return line.served < freeMax || this.#served < servedTogether;
  }

  #serve(line: Line<T>, request: T): void {
    if (!line.serve(request)) return;
    line.served++;
    this.#served++;
  }

  /** Whether more wait than one turn may serve. */
  get #isBehind(): boolean {
    return this.#waitingRequests > servedTogether;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#now = performance.now();
    setImmediate(() => this.#endTurn());
  }

  /** The turn is full. Connections that were not read yet wait for another turn. */
  #fill(): void {
    for (const line of this.#resumed) if (line.askedIn !== this.#turn) stop(line, this.#overdue);
    if (this.#overdue.size > 0) this.#resumedMax = Math.ceil(this.#resumedMax / 2);
    // Busy connections are paused already. The others send few requests.
    const intervalMs = stopIntervalMs * this.#open.size;
    if (this.#isAnyStopped || this.#now < this.#stoppedAllAt + intervalMs) return;
    this.#stoppedAllAt = this.#now;
    for (const line of this.#open) {
      const isRecent = line.askedAt >= this.#now - recentMs;
      if (!isRecent || line.askedIn === this.#turn) continue;
      stop(line, line.isBusy ? this.#waiting : this.#overdue);
    }
  }

  get #isAnyStopped(): boolean {
    return this.#waiting.size > 0 || this.#overdue.size > 0;
  }

  #endTurn(): void {
    this.#isScheduled = false;
    this.#turn++;
    this.#served = 0;
    if (this.#queued.size > 0) this.#schedule(); // what is served now counts in the next turn
    for (const line of this.#queued) {
      while (line.waiting.length > 0 && this.#mayServe(line, 1)) {
        this.#waitingRequests--;
        this.#serve(line, line.waiting.shift() as T);
      }
      if (line.waiting.length === 0) this.#queued.delete(line);
    }
    const isFull = this.#count >= turnRequestsMax;
    if (isFull || this.#isAnyStopped) {
      for (const line of this.#counted) {
        this.#overdue.delete(line); // it was read before the pause
        stop(line, this.#waiting);
      }
    }
    // A turn in which nobody was resumed says nothing about that.
    if (!isFull && this.#resumed.size > 0) {
      this.#resumedMax = Math.min(turnConnectionsMax, 2 * this.#resumedMax);
    }
    this.#counted.clear();
    this.#count = 0;
    this.#resumed.clear();
    if (!this.#isBehind) {
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
      handleOf(socket)?.readStart?.();
      begin();
      if (++started === turnStartsMax) break;
    }
    return started > 0;
  }

  #resume(): void {
    for (const stopped of [this.#overdue, this.#waiting]) {
      for (const line of stopped) {
        if (this.#resumed.size >= this.#resumedMax) return;
        stopped.delete(line);
        this.#resumed.add(line);
        handleOf(line.socket)?.readStart?.();
      }
    }
  }
}

function stop<T>(line: Line<T>, stopped: Set<Line<T>>): void {
  stopped.add(line);
  handleOf(line.socket)?.readStop?.();
}

/**
 * The undocumented handle of a socket. After an HTTP/2 session has taken over a socket,
 * `Socket.pause()` has no effect, but these methods do. Without them, nothing is paused.
 */
interface Handle {
  readStart?(): void;
  readStop?(): void;
  /** Of a Unix socket, it knows no peer. */
  getpeername?(address: object): number;
}

export function handleOf(socket: Socket & { readonly _handle?: Handle | null }) {
  return socket._handle;
}
