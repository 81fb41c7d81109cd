import { Code, ConnectError } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { addressKey } from "./address-key.ts";
import type { RequestHeaders } from "./headers.ts";

/** With few connections, large bodies fit into a container of 512 MiB. */
const bytesMaxDefault = 64 * 1024 * 1024;

/** The part of a body that arrives while it is not read: the window of an HTTP/2 stream. */
const windowBytes = 64 * 1024;

/** About the memory that Node needs for a request whose body is incomplete, mostly for the HTTP/2 stream. */
const requestBytes = 8 * 1024;

/** How long a body may wait for room. Less than the time limit for sending a request. */
const waitMs = 3000;

/** A body waits only up to this multiple of its share, so that others of the address still have room. */
const waitingFactor = 1.5;

const retryAfterSeconds = 1n;

/** The sender of a body. */
export interface Caller {
  readonly peerAddress: string | undefined;
  readonly headers: RequestHeaders;
}

/**
 * Adds up the bytes of all bodies in progress: received, decompressed and answered. Above its
 * limit, reading pauses until others are done, and resumes with the oldest. Bodies that cannot wait
 * are rejected.
 *
 * No caller can use it up: the bodies of one address, plus those with one `Authorization`, may take
 * as much as is free (the dynamic thresholds of Choudhury and Hahne). So one token gets at most a
 * third of it, and one address with many tokens half. The oldest body of an address and token
 * always continues, and the others wait for it.
 */
export class BodyBudget {
  readonly bytesMax: number;
  /** The number of rejected bodies. */
  refusals = 0;
  readonly #shares = new Map<string, Share>();
  /** Those that count for shares and are not at rest, oldest first. */
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

  /** The number of waiting bodies. */
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

  /** As `add`, for bytes that are held once there is room for them. */
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

  /** It stops waiting. */
  leave(holding: Holding): void {
    if (holding.waits === 0) return;
    for (const waiter of this.#waiting) {
      if (waiter.holding === holding) this.#settle(waiter, () => waiter.reject(left()));
    }
  }

  /** As `Holding.rest`. */
  rest(holding: Holding): void {
    this.#holdings.delete(holding);
    for (const share of holding.shares ?? []) share.holdings.delete(holding);
  }

  /** Releases everything that it holds. */
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

  /** Counts its bytes for its address and token from now on. */
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

  /** If it was at rest, it becomes the youngest of those that want room. */
  #enter(holding: Holding): void {
    if (this.#holdings.has(holding)) return;
    holding.number = ++this.#entered;
    this.#holdings.add(holding);
    for (const share of holding.shares ?? []) share.holdings.add(holding);
  }

  #mayGoOn(holding: Holding): boolean {
    if (holding.shares === undefined) {
      // Shares matter only if much is held.
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
    holding.waits++;
    return promise;
  }

  /** The request may stay open until its client has read the refusal. It no longer counts as the oldest. */
  #refuse(holding: Holding): ConnectError {
    this.refusals++;
    holding.rest();
    this.#schedule(); // another is the oldest now
    return refusal();
  }

  #settle(waiter: Waiter, settle: () => void): void {
    this.#waiting.delete(waiter);
    waiter.holding.waits--;
    clearTimeout(waiter.timer);
    this.give(waiter.holding, windowBytes);
    settle();
  }

  /** Runs once for everything that is given back in the same turn. */
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
      // The next ones must see the bytes that it will receive.
      this.#charge(holding, mayGoOn ? windowBytes : -wantedBytes);
      return mayGoOn;
    });
    for (const waiter of resumed) {
      this.#charge(waiter.holding, -windowBytes);
      this.#settle(waiter, waiter.resolve);
    }
  }
}

/** The bytes that one exchange holds. */
export class Holding {
  readonly caller: Caller;
  bytes = 0;
  /** The shares that it counts for, once much is held. */
  shares: readonly Share[] | undefined;
  /** Lower numbers continue first. */
  number = 0;
  /** How often it waits now. */
  waits = 0;
  readonly #budget: BodyBudget;
  #requestBytes = 0;
  #making = 0;
  #isReleased = false;

  constructor(budget: BodyBudget, caller: Caller) {
    this.#budget = budget;
    this.caller = caller;
  }

  /**
   * Call before reading the body. The request itself counts until the body is `whole`, which limits
   * requests whose bodies never arrive.
   *
   * @returns as `add`.
   * @throws as `add`.
   */
  begin(): Promise<void> | undefined {
    if (this.#isReleased) throw left();
    const counted = () => {
      this.#requestBytes = requestBytes;
    };
    const room = this.#budget.reserve(this, requestBytes);
    if (room !== undefined) return room.then(counted);
    counted();
    return undefined;
  }

  /** The body is complete. */
  whole(): void {
    this.give(this.#requestBytes);
    this.#requestBytes = 0;
    this.rest();
  }

  /**
   * Adds bytes that are held, or subtracts them if negative.
   *
   * @returns undefined if there is room for more; otherwise a promise that resolves once there is,
   * and rejects with the same errors.
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
   * Creates something of at most this many bytes, once there is room for them. Its bytes are then
   * held.
   *
   * @throws {ConnectError} as `add`.
   */
  async make(bytesMax: number, work: () => Promise<Uint8Array>): Promise<Uint8Array> {
    if (this.#isReleased) throw left();
    this.#making++;
    try {
      const room = this.#budget.reserve(this, bytesMax);
      if (room !== undefined) await room;
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

  /** Gives bytes back. */
  give(bytes: number): void {
    if (!this.#isReleased) this.#budget.give(this, bytes);
  }

  /**
   * It needs no more room for now, so others need not wait for it. Its bytes still count. No effect
   * while something is being created: otherwise the next one would become the oldest and exceed its
   * share.
   */
  rest(): void {
    if (this.#making === 0) this.#budget.rest(this);
  }

  /** Releases everything except results that are being created. Call once when the exchange ends. */
  release(): void {
    this.#isReleased = true;
    this.#budget.leave(this);
    this.#end();
  }

  #end(): void {
    if (this.#making === 0) this.#budget.release(this);
  }
}

/** The bytes that all bodies of one address or token hold. */
interface Share {
  readonly key: string;
  bytes: number;
  members: number;
  /** Those that are not at rest, oldest first. */
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

/** A new error for each call, because its receiver may change it. */
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
