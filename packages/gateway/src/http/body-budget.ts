import { Code, ConnectError } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { addressKey, countFor } from "./address-key.ts";
import type { RequestHeaders } from "./headers.ts";

/** With few connections, large bodies fit into a container of 512 MiB. */
const bytesMaxDefault = 64 * 1024 * 1024;

/** About the memory that Node needs for a request whose body is incomplete, mostly for the HTTP/2 stream. */
export const requestBytes = 8 * 1024;

/** In Workers, the timers of a request end with it. So others must not wait for them. */
export const isWorkers: boolean = "WebSocketPair" in globalThis;

/** How long a body may wait for room. Less than the time limit for sending a request. */
const waitMs = 3000;

/** The longest pause between two looks at those that wait: a look that was interrupted seems long. */
const pauseMsMax = 50;

/** What is here already may take this multiple of its share: it waits for more. */
const waitingFactor = 1.5;

/** While less than this part of the budget is held, shares do not matter. It is kept free for small bodies. */
const smallPart = 8;

/** The sender of a body. */
export interface Caller {
  readonly peerAddress: string | undefined;
  readonly headers: RequestHeaders;
}

/**
 * Adds up the memory of all messages in progress: their bytes, received and decompressed, and what
 * they are decoded to. The sum never exceeds `bytesMax`. What finds no room waits, and is rejected after
 * 3 s. What cannot wait is rejected at once.
 *
 * No caller can use it up: what one address holds, plus what one `Authorization` holds, may be as
 * much as is free (the dynamic thresholds of Choudhury and Hahne). So one token gets at most a third,
 * and one address with many tokens half. One exchange that has its shares nearly to itself may take more
 * than its share. An eighth is left for small ones.
 */
export class BodyBudget {
  readonly bytesMax: number;
  heldBytes = 0;
  /** The number of rejected bodies. */
  refusals = 0;
  /** By address and by token, of those holdings that have looked for room. */
  readonly #heldBy = new Map<string, number>();
  readonly #waiters = new Set<Waiter>();
  #isScheduled = false;
  #pauseMs = 0;

  /** @param bytesMax Default: 64 MiB. @throws {RangeError} if it is not a positive integer. */
  constructor({ bytesMax = bytesMaxDefault }: { readonly bytesMax?: number } = {}) {
    if (!Number.isSafeInteger(bytesMax) || bytesMax < 1) {
      throw new RangeError(`bytesMax must be a positive integer: ${bytesMax}`);
    }
    this.bytesMax = bytesMax;
  }

  /** The number of waiting bodies. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Whether an error says that a budget has no room. */
  static isRefusal(error: unknown): boolean {
    return error instanceof ConnectError && refused.has(error);
  }

  /** As `Holding.add`, where shares matter. */
  find(holding: Holding, here: number, more: number): Promise<void> | undefined {
    if (this.#fits(holding, here + more)) {
      this.count(holding, here + more);
      return undefined;
    }
    this.take(holding, here);
    const timer = setTimeout(() => {
      if (!this.#waiters.has(waiter)) return; // in Workers, another request cannot clear it
      this.#resumeOne(waiter); // others may just have given up
      if (this.#waiters.delete(waiter)) waiter.reject(this.#refuse(holding));
    }, waitMs);
    const waiter: Waiter = { holding, more, timer, ...Promise.withResolvers<void>() };
    waiter.promise.catch(() => {}); // whoever asked may not read on
    this.#waiters.add(waiter);
    return waiter.promise;
  }

  take(holding: Holding, bytes: number): void {
    if (!this.#fits(holding, bytes, waitingFactor)) throw this.#refuse(holding);
    this.count(holding, bytes);
  }

  /** Counts them without a question. */
  count(holding: Holding, bytes: number): void {
    holding.bytes += bytes;
    this.heldBytes += bytes;
    for (const key of holding.keys) countFor(this.#heldBy, key, bytes);
    if (bytes > 0 || this.#waiters.size === 0 || this.#isScheduled) return;
    // Once for everything that is given back meanwhile.
    this.#isScheduled = true;
    if (isWorkers) this.#resume();
    else setTimeout(this.#resume, this.#pauseMs);
  }

  #fits(holding: Holding, bytes: number, factor = 1): boolean {
    if (holding.keys.length === 0) {
      holding.keys = keysOf(holding.caller);
      for (const key of holding.keys) countFor(this.#heldBy, key, holding.bytes);
    }
    const free = this.bytesMax - this.heldBytes - bytes;
    let own = 0;
    let others = 0;
    for (const key of holding.keys) {
      const held = this.#heldBy.get(key) ?? 0;
      own += held + bytes;
      others += held - holding.bytes;
    }
    if (own <= factor * free) return true;
    return others * 16 <= this.bytesMax && free * smallPart >= this.bytesMax;
  }

  readonly #resume = () => {
    const begun = performance.now();
    this.#isScheduled = false;
    for (const waiter of this.#waiters) this.#resumeOne(waiter);
    // About a tenth of the time, however many wait.
    this.#pauseMs = Math.min(10 * (performance.now() - begun), pauseMsMax);
  };

  #resumeOne(waiter: Waiter): void {
    const { holding, more, timer, resolve, reject } = waiter;
    if (holding.isReleased) reject(clientLeft());
    else if (this.#fits(holding, more)) {
      this.count(holding, more);
      resolve();
    } else return;
    clearTimeout(timer);
    this.#waiters.delete(waiter);
  }

  #refuse({ isCalling }: Holding): ConnectError {
    this.refusals++;
    if (isCalling) {
      return new ConnectError("the server has no room for the rest of the call now", Code.Internal);
    }
    // A new one for each, because its receiver may change it.
    const text = "the server has no room for more request bodies now: try again";
    const details = [{ desc: RetryInfoSchema, value: { retryDelay: { seconds: 1n } } }];
    const error = new ConnectError(text, Code.Unavailable, { "retry-after": "1" }, details);
    refused.add(error);
    return error;
  }
}

interface Waiter extends PromiseWithResolvers<void> {
  readonly holding: Holding;
  readonly more: number;
  readonly timer: ReturnType<typeof setTimeout>;
}

export function clientLeft(): ConnectError {
  return new ConnectError("the client has left", Code.Canceled);
}

const refused = new WeakSet<ConnectError>();

/** By what a caller is counted: its address, and its token. */
export function keysOf({ peerAddress = "", headers }: Caller): readonly string[] {
  const address = `address ${addressKey(peerAddress)}`;
  const { authorization } = headers;
  if (authorization === undefined) return [address];
  const field = String(authorization).trim();
  // Its scheme, and the spaces, can be written in many ways.
  return [address, `token ${field.replace(/^\S+\s+/, "")}`];
}

const noKeys: readonly string[] = [];

/** The bytes that one exchange holds. */
export class Holding {
  declare readonly caller: Caller;
  declare bytes: number;
  /** For whom it counts, once that matters. */
  declare keys: readonly string[];
  declare isReleased: boolean;
  /** Whether a server has been called, which may have done its work: a retry would do it twice. */
  declare isCalling: boolean;
  declare private making: number;
  declare private readonly budget: BodyBudget;

  // Initialisers of fields would be a function more for each request.
  constructor(budget: BodyBudget, caller: Caller) {
    this.budget = budget;
    this.caller = caller;
    this.bytes = 0;
    this.keys = noKeys;
    this.isReleased = false;
    this.isCalling = false;
    this.making = 0;
  }

  /**
   * Counts bytes: those `here` in memory, and those to come, once there is room for them.
   * @returns undefined if there is room for all; otherwise what resolves once there is, and rejects
   * with the same errors.
   * @throws {ConnectError} UNAVAILABLE if there is no room even for those here; CANCELED after `release`.
   */
  add(here: number, more = 0): Promise<void> | undefined {
    if (this.isReleased) throw clientLeft();
    const { budget } = this;
    const bytes = here + more;
    if (this.keys !== noKeys || (budget.heldBytes + bytes) * smallPart > budget.bytesMax) {
      return budget.find(this, here, more);
    }
    this.bytes += bytes;
    budget.heldBytes += bytes;
    return undefined;
  }

  /** Counts bytes that are in memory, and wait for nothing. @throws {ConnectError} as `add`. */
  take(bytes: number): void {
    if (this.isReleased) throw clientLeft();
    this.budget.take(this, bytes);
  }

  give(bytes: number): void {
    if (!this.isReleased) this.budget.count(this, -bytes);
  }

  /** Makes something of about this many bytes; then its real size is held. @throws as `add`. */
  async make<T>(bytes: number, work: () => Promise<T>, sizeOf: (made: T) => number): Promise<T> {
    const room = this.add(0, bytes);
    if (room !== undefined) await room;
    // It takes memory even if the exchange ends meanwhile.
    this.making += bytes;
    let size = 0;
    try {
      const made = await work();
      if (sizeOf(made) > bytes) this.take(sizeOf(made) - bytes);
      size = sizeOf(made);
      return made;
    } finally {
      this.making -= bytes;
      this.budget.count(this, this.isReleased ? -bytes : Math.min(size - bytes, 0));
    }
  }

  /** Releases everything except what is being made. Call once when the exchange ends. */
  release(): void {
    this.isReleased = true;
    this.budget.count(this, this.making - this.bytes);
  }
}
