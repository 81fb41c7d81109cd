import { Code, ConnectError } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { addressKey } from "./address-key.ts";
import type { RequestHeaders } from "./headers.ts";

/** With few connections, large bodies fit into a container of 512 MiB. */
const bytesMaxDefault = 64 * 1024 * 1024;

/** The part of a body that arrives while it is not read: the window of an HTTP/2 stream. */
const windowBytes = 64 * 1024;

/** About what Node takes for a request while its body comes in: most of it is the HTTP/2 stream. */
const requestBytes = 8 * 1024;

/** How long a body may wait for room: less than a client may take to send a request. */
const waitMs = 3000;

/** More than this beyond what may be read does not wait: others of the address still have room. */
const waitingFactor = 1.5;

const retryAfterSeconds = 1n;

/** Whose bodies they are. */
export interface Caller {
  readonly peerAddress: string | undefined;
  readonly headers: RequestHeaders;
}

/**
 * Adds up the bytes of all bodies under way: received, unpacked, and answered. Above its limit,
 * bodies are not read on until others are done, the oldest first; what cannot wait is refused.
 *
 * Nobody uses it up alone: the bodies of one address, plus those with one `Authorization`, may take
 * as much as is free (the dynamic thresholds of Choudhury and Hahne). So one token ends with a third
 * of it, and one address with many tokens with half. The oldest body of an address and token always
 * goes on: the others wait for it.
 */
export class BodyBudget {
  readonly bytesMax: number;
  /** How often a body was refused. */
  refusals = 0;
  readonly #shares = new Map<string, Share>();
  /** Those that count for shares and are not at rest, in the order in which they began. */
  readonly #holdings = new Set<Holding>();
  readonly #waiting = new Set<Waiter>();
  #heldBytes = 0;
  #entered = 0;
  #isScheduled = false;

  /** @param bytesMax Default: 64 MiB. @throws {RangeError} if it is not a positive integer. */
  constructor({ bytesMax = bytesMaxDefault }: { readonly bytesMax?: number } = {}) {
    if (!Number.isSafeInteger(bytesMax) || bytesMax < 1) {
      throw new RangeError(`bytesMax must be a positive integer: ${bytesMax}`);
    }
    this.bytesMax = bytesMax;
  }

  /** Whether an error says that a budget has no room. */
  static isRefusal(error: unknown): boolean {
    return error instanceof ConnectError && refused.has(error);
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** How many bodies wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  hold(caller: Caller): Holding {
    return new Holding(this, caller);
  }

  /** As `Holding.add`. */
  add(holding: Holding, bytes: number): Promise<void> | undefined {
    this.#charge(holding, bytes);
    return this.#mayGoOn(holding) ? undefined : this.#wait(holding, 0);
  }

  /** As `add`, of bytes that are held when there is room for them. */
  reserve(holding: Holding, bytes: number): Promise<void> | undefined {
    this.#charge(holding, bytes);
    if (this.#mayGoOn(holding)) return undefined;
    this.#charge(holding, -bytes);
    return this.#wait(holding, bytes);
  }

  /** As `Holding.give`. */
  give(holding: Holding, bytes: number): void {
    this.#charge(holding, -bytes);
    this.#schedule();
  }

  /** It waits no more. */
  leave(holding: Holding): void {
    if (holding.shares === undefined) return;
    for (const waiter of this.#waiting) {
      if (waiter.holding === holding) this.#settle(waiter, () => waiter.reject(left()));
    }
  }

  /** As `Holding.rest`. */
  rest(holding: Holding): void {
    if (!this.#holdings.delete(holding)) return;
    for (const share of holding.shares ?? []) share.holdings.delete(holding);
    this.#schedule();
  }

  /** It holds nothing any more. */
  release(holding: Holding): void {
    this.give(holding, holding.bytes);
    this.rest(holding);
    for (const share of holding.shares ?? []) {
      share.members--;
      if (share.members === 0) this.#shares.delete(share.key);
    }
    holding.shares = undefined;
  }

  #charge(holding: Holding, bytes: number): void {
    holding.bytes += bytes;
    this.#heldBytes += bytes;
    if (holding.shares === undefined) return;
    for (const share of holding.shares) share.bytes += bytes;
  }

  /** From now on, what it holds counts for its address, and for its token. */
  #attribute(holding: Holding): void {
    const { peerAddress = "", headers } = holding.caller;
    const { authorization } = headers;
    const keys = [`address ${addressKey(peerAddress)}`];
    if (authorization !== undefined) keys.push(`token ${authorization}`);
    holding.shares = keys.map((key) => {
      let share = this.#shares.get(key);
      if (share === undefined) {
        share = { key, bytes: 0, members: 0, holdings: new Set() };
        this.#shares.set(key, share);
      }
      share.bytes += holding.bytes;
      share.members++;
      return share;
    });
  }

  /** It is the youngest of those that want room, if it was at rest. */
  #enter(holding: Holding): void {
    if (this.#holdings.has(holding)) return;
    holding.number = ++this.#entered;
    this.#holdings.add(holding);
    for (const share of holding.shares ?? []) share.holdings.add(holding);
  }

  #mayGoOn(holding: Holding): boolean {
    if (holding.shares === undefined) {
      // Whose they are matters only when much is held.
      if (this.#heldBytes * 8 <= this.bytesMax) return true;
      this.#attribute(holding);
    }
    this.#enter(holding);
    if (this.#fits(holding, 1)) return true;
    if (this.#heldBytes > this.bytesMax) return isFirst(this.#holdings, holding);
    return holding.shares?.every(({ holdings }) => isFirst(holdings, holding)) === true;
  }

  #fits({ shares = [] }: Holding, factor: number): boolean {
    let bytes = 0;
    for (const share of shares) bytes += share.bytes;
    return bytes <= factor * (this.bytesMax - this.#heldBytes);
  }

  #wait(holding: Holding, wantedBytes: number): Promise<void> {
    if (!this.#fits(holding, waitingFactor)) throw this.#refuse(holding);
    this.#charge(holding, windowBytes);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#settle(waiter, () => reject(this.#refuse(holding)));
    }, waitMs);
    const waiter: Waiter = { holding, wantedBytes, resolve, reject, timer };
    this.#waiting.add(waiter);
    return promise;
  }

  /** It may stay for a while, until its client has read why: it is the oldest of nobody any more. */
  #refuse(holding: Holding): ConnectError {
    this.refusals++;
    this.rest(holding);
    return refusal();
  }

  #settle(waiter: Waiter, settle: () => void): void {
    this.#waiting.delete(waiter);
    clearTimeout(waiter.timer);
    this.give(waiter.holding, windowBytes);
    settle();
  }

  /** Once for all that is given back together. */
  #schedule(): void {
    if (this.#waiting.size === 0 || this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#resume();
    });
  }

  #resume(): void {
    const inOrder = [...this.#waiting].sort((a, b) => a.holding.number - b.holding.number);
    const resumed = inOrder.filter(({ holding, wantedBytes }) => {
      this.#charge(holding, wantedBytes);
      const mayGoOn = this.#mayGoOn(holding);
      // Those behind it see what it will receive.
      this.#charge(holding, mayGoOn ? windowBytes : -wantedBytes);
      return mayGoOn;
    });
    for (const waiter of resumed) {
      this.#charge(waiter.holding, -windowBytes);
      this.#settle(waiter, waiter.resolve);
    }
  }
}

/** What one exchange holds. */
export class Holding {
  readonly caller: Caller;
  bytes = 0;
  /** Those that it counts for, once much is held. */
  shares: readonly Share[] | undefined;
  /** The older ones go on first. */
  number = 0;
  readonly #budget: BodyBudget;
  #requestBytes = 0;
  #making = 0;
  #isReleased = false;

  constructor(budget: BodyBudget, caller: Caller) {
    this.#budget = budget;
    this.caller = caller;
  }

  /**
   * Its body is read from now on: the request itself counts, too, until the body is `whole`. So a
   * caller cannot keep any number of bodies open that never come.
   *
   * @returns as `add`.
   * @throws as `add`.
   */
  begin(): Promise<void> | undefined {
    if (this.#isReleased) throw left();
    const room = this.#budget.reserve(this, requestBytes);
    this.#requestBytes = requestBytes;
    return room;
  }

  /** Its body is there: it is soon served. */
  whole(): void {
    this.give(this.#requestBytes);
    this.#requestBytes = 0;
    this.rest();
  }

  /**
   * Counts bytes that are held now, or as many less.
   *
   * @returns undefined if there is room for more; else what resolves when there is, and rejects as
   * this throws.
   * @throws {ConnectError} UNAVAILABLE if there is not even room to wait; CANCELED after `release`.
   */
  add(bytes: number): Promise<void> | undefined {
    if (bytes <= 0) {
      this.give(-bytes);
      this.rest();
      return undefined;
    }
    if (this.#isReleased) throw left();
    return this.#budget.add(this, bytes);
  }

  /**
   * Makes something of at most so many bytes, when there is room for them. It is held from then on.
   *
   * @throws {ConnectError} as `add`.
   */
  async make(bytesMax: number, work: () => Promise<Uint8Array>): Promise<Uint8Array> {
    if (this.#isReleased) throw left();
    this.#making++;
    try {
      const room = this.#budget.reserve(this, bytesMax);
      if (room !== undefined) await room;
      if (this.#isReleased) throw left();
      return await this.#makeReserved(bytesMax, work);
    } finally {
      this.#making--;
      if (this.#isReleased) this.#end();
      else this.rest();
    }
  }

  async #makeReserved(bytesMax: number, work: () => Promise<Uint8Array>): Promise<Uint8Array> {
    let kept = 0;
    try {
      const made = await work();
      kept = made.byteLength;
      return made;
    } finally {
      this.#budget.give(this, bytesMax - kept);
    }
  }

  /** Bytes are held no more. */
  give(bytes: number): void {
    if (!this.#isReleased) this.#budget.give(this, bytes);
  }

  /**
   * It wants no more room for now, so others need not wait for it. What it holds still counts. No
   * effect while something is made: else the next would be the oldest, and go on over its share.
   */
  rest(): void {
    if (this.#making === 0) this.#budget.rest(this);
  }

  /** Nothing is held any more, but what is being made. Call once when the exchange ends. */
  release(): void {
    this.#isReleased = true;
    this.#budget.leave(this);
    this.#end();
  }

  #end(): void {
    if (this.#making === 0) this.#budget.release(this);
  }
}

/** What the bodies of one address, or with one token, hold together. */
interface Share {
  readonly key: string;
  bytes: number;
  members: number;
  /** Those that are not at rest, in the order in which they began. */
  readonly holdings: Set<Holding>;
}

interface Waiter {
  readonly holding: Holding;
  readonly wantedBytes: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

function isFirst(holdings: ReadonlySet<Holding>, holding: Holding): boolean {
  return holdings.values().next().value === holding;
}

function left(): ConnectError {
  return new ConnectError("the client has left", Code.Canceled);
}

const refused = new WeakSet<ConnectError>();

/** An error of its own for each call: who gets one may change it. */
function refusal(): ConnectError {
  const error = new ConnectError(
    "the server has no room for more request bodies now: try again",
    Code.Unavailable,
    { "retry-after": `${retryAfterSeconds}` },
    [{ desc: RetryInfoSchema, value: { retryDelay: { seconds: retryAfterSeconds } } }],
  );
  refused.add(error);
  return error;
}
