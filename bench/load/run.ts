import type { Answers, Connection } from "./connection.ts";
import { Latencies } from "./latencies.ts";
import type { Load, LoadResult } from "./load.ts";

export type RunResult = Omit<LoadResult, "unanswered">;

/** The timeout of the last answers. */
const lastAnswersMs = 10_000;

/** How long the open loop sleeps before it checks for due requests again. */
const napMs = 0.1;

/** Used to sleep: nobody ever notifies it. */
const never = new Int32Array(new SharedArrayBuffer(4));

/** One run of a load, over connections that report to its `answers`. */
export class Run {
  readonly answers: Answers;
  readonly #load: Load;
  readonly #latencies = new Latencies();
  readonly #done = Promise.withResolvers<void>();
  readonly #requestsMax: number;
  #connections: readonly Connection[] = [];
  #start = 0;
  /** Requests that were due or answered before are not measured. */
  #measuredFrom = 0;
  #end = Number.POSITIVE_INFINITY;
  #sent = 0;
  /** Whether requests are due for which no connection had room. */
  #isBehind = false;
  #succeeded = 0;
  #failed = 0;
  #inTime = 0;
  #lastAnswerAt = 0;
  #cutOff: NodeJS.Timeout | undefined;

  constructor(load: Load) {
    this.#load = load;
    this.#requestsMax = "requests" in load.until ? load.until.requests : Number.POSITIVE_INFINITY;
    const { rate } = load;
    this.answers = {
      onAnswer: (isRight, startedAt, now) => this.#take(isRight, startedAt, now),
      onFree:
        rate === undefined
          ? (connection, now) => this.#refill(connection, now)
          : (connection, now) => this.#catchUp(connection, rate, now),
      onBroken: this.#done.reject,
    };
  }

  /** @throws if a connection breaks, or the last answers do not arrive. */
  async over(connections: readonly Connection[]): Promise<RunResult> {
    const { until, rate, warmUpSeconds = 0 } = this.#load;
    this.#connections = connections;
    const cpu = process.cpuUsage();
    this.#start = performance.now();
    this.#measuredFrom = this.#start + warmUpSeconds * 1000;
    if ("seconds" in until) {
      const seconds = warmUpSeconds + until.seconds;
      this.#end = this.#start + seconds * 1000;
      setTimeout(() => this.#finish(), seconds * 1000);
    }
    if (rate === undefined)
      for (const connection of connections) this.#refill(connection, this.#start);
    else this.#pace(rate);
    await this.#done.promise;
    return this.#result(process.cpuUsage(cpu));
  }

  #result({ user, system }: NodeJS.CpuUsage): RunResult {
    const endedAt = Math.min(this.#end, this.#lastAnswerAt);
    return {
      requestsPerSecond: (this.#inTime / (endedAt - this.#measuredFrom)) * 1000,
      created: this.#succeeded,
      failed: this.#failed,
      ...this.#latencies.quantiles(),
      generatorCpuUs: (user + system) / this.#sent,
    };
  }

  #take(isRight: boolean, startedAt: number, now: number): void {
    if (isRight) this.#succeeded++;
    else this.#failed++;
    if (isRight && now >= this.#measuredFrom && now <= this.#end) this.#inTime++;
    if (startedAt >= this.#measuredFrom) this.#latencies.add(now - startedAt);
    this.#lastAnswerAt = now;
    if (this.#isOver(now)) this.#finish();
  }

  #isOver(now: number): boolean {
    return now >= this.#end || this.#sent >= this.#requestsMax;
  }

  /** The closed loop: an answer makes room for the next request. */
  #refill(connection: Connection, now: number): void {
    while (connection.free > 0 && !this.#isOver(now)) this.#send(connection, now);
    connection.flush();
  }

  /**
   * The open loop: checks for due requests, sleeps briefly, and repeats. A timer would create
   * bursts of a millisecond. Without sleeping, it would take a core from the server, which has more
   * threads than one. If all connections are busy, a request waits for an answer, but its latency
   * starts when it was due. In the meantime, there is nothing to check.
   */
  #pace(rate: number): void {
    const now = performance.now();
    const due = this.#dueAt(now, rate);
    while (this.#sent < due && !this.#isOver(now)) {
      const connection = this.#nextFree();
      this.#isBehind = connection === undefined;
      if (connection === undefined) return;
      this.#sendNext(connection, rate);
      connection.flush();
    }
    if (this.#isOver(now)) return;
    Atomics.wait(never, 0, 0, napMs);
    setImmediate(() => this.#pace(rate));
  }

  /** Sends delayed requests as soon as this connection has room. */
  #catchUp(connection: Connection, rate: number, now: number): void {
    if (!this.#isBehind) return;
    const due = this.#dueAt(now, rate);
    while (this.#sent < due && connection.free > 0 && !this.#isOver(now)) {
      this.#sendNext(connection, rate);
    }
    connection.flush();
    if (connection.free === 0 || this.#isOver(now)) return;
    this.#isBehind = false;
    this.#pace(rate);
  }

  #dueAt(now: number, rate: number): number {
    return Math.floor(((now - this.#start) * rate) / 1000);
  }

  #sendNext(connection: Connection, rate: number): void {
    this.#send(connection, this.#start + ((this.#sent + 1) * 1000) / rate);
  }

  /** Round robin, so that all connections are used equally. */
  #nextFree(): Connection | undefined {
    for (let tries = 0; tries < this.#connections.length; tries++) {
      const connection = this.#connections[(this.#sent + tries) % this.#connections.length];
      if (connection !== undefined && connection.free > 0) return connection;
    }
    return undefined;
  }

  #send(connection: Connection, startedAt: number): void {
    connection.add(startedAt);
    this.#sent++;
  }

  #finish(): void {
    if (this.#succeeded + this.#failed === this.#sent) this.#done.resolve();
    this.#cutOff ??= setTimeout(
      () => this.#done.reject(new Error("answers are missing")),
      lastAnswersMs,
    ).unref();
  }
}
