import type { MessagePort } from "node:worker_threads";
import {
  assertValidPlant,
  type Cancellation,
  type NewPlant,
  type Obstacle,
  overloaded,
  type Plant,
  PlantError,
  type PlantStore,
  withoutId,
} from "../../plant.ts";
import { heapBytes, heapBytesMin } from "../group-commit.ts";
import { type CommitLimits, defaultLimits } from "../options.ts";
import { toColumns } from "../plant-columns.ts";
import type { Failure, Reply, Request } from "./messages.ts";

export interface RemoteStoreOptions {
  /** What is in the way of the store itself: its thread knows. */
  readonly obstacle: () => Obstacle | undefined;
  /** Those of the store itself. */
  readonly limits?: CommitLimits;
}

/**
 * A store that another thread has, and lets this one use through `hostStore`.
 * What is asked for in one turn of the event loop crosses in one message.
 *
 * Queue and limits are the store's own. One thread alone never has more under
 * way than the store would take of all, so that no more than that crosses.
 */
export class RemoteStore implements PlantStore {
  readonly #port: MessagePort;
  readonly #obstacle: () => Obstacle | undefined;
  readonly #limits: CommitLimits;
  readonly #waiting = new Map<number, Waiter>();
  #waitingBytes = 0;
  #next = 0;
  #unsent: NewPlant[] = [];
  #left: number[] = [];
  readonly #ended = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(port: MessagePort, { obstacle, limits = defaultLimits }: RemoteStoreOptions) {
    this.#port = port;
    this.#obstacle = obstacle;
    this.#limits = limits;
    port.on("message", (reply: Reply) => this.#receive(reply));
    port.once("close", () => this.#end());
  }

  async create(plant: NewPlant, signal?: Cancellation): Promise<Plant> {
    assertValidPlant(plant);
    if (this.#isClosed) throw new PlantError("unavailable", "the store is closed");
    if (signal?.aborted) throw signal.reason;
    const bytes = heapBytes(plant);
    if (!this.#hasRoomFor(bytes)) {
      throw overloaded();
    }
    await new Promise<void>((resolve, reject) => {
      this.#scheduleSend();
      const number = this.#next++;
      this.#unsent.push(plant);
      this.#waitingBytes += bytes;
      const listener = {
        handleEvent: () => {
          this.#scheduleSend();
          this.#left.push(number);
          this.#take(number)?.reject(signal?.reason);
        },
      };
      signal?.addEventListener("abort", listener);
      const unwatch = () => signal?.removeEventListener("abort", listener);
      this.#waiting.set(number, { bytes, resolve, reject, unwatch });
    });
    return withoutId(plant);
  }

  isFull(): boolean {
    return !this.#hasRoomFor(heapBytesMin);
  }

  obstacle(): Obstacle | undefined {
    return this.#isClosed ? "closed" : this.#obstacle();
  }

  /** Closes this end alone: the store itself goes on for others. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#closePortWhenDone();
    return this.#ended.promise;
  }

  /** A commit of a thread's own plants may be under way while as many wait as may. */
  #hasRoomFor(bytes: number): boolean {
    const { waitingRowsMax, waitingBytesMax, batchRowsMax, batchBytesMax } = this.#limits;
    return (
      this.#waiting.size < waitingRowsMax + batchRowsMax &&
      this.#waitingBytes + bytes <= waitingBytesMax + batchBytesMax
    );
  }

  /** To be called before something is added that is to be sent. */
  #scheduleSend(): void {
    if (this.#unsent.length === 0 && this.#left.length === 0) setImmediate(() => this.#send());
  }

  #send(): void {
    const plants = toColumns(this.#unsent);
    const first = this.#next - this.#unsent.length;
    this.#port.postMessage({ first, plants, left: this.#left } satisfies Request, [
      plants.ids.buffer as ArrayBuffer,
    ]);
    this.#unsent = [];
    this.#left = [];
    this.#closePortWhenDone();
  }

  #receive({ created, failed }: Reply): void {
    for (const number of created) this.#take(number)?.resolve();
    for (const { number, reason } of failed) this.#take(number)?.reject(errorFrom(reason));
    this.#closePortWhenDone();
  }

  /** Undefined if its caller has left. */
  #take(number: number): Waiter | undefined {
    const waiter = this.#waiting.get(number);
    if (waiter === undefined) return undefined;
    this.#waiting.delete(number);
    this.#waitingBytes -= waiter.bytes;
    waiter.unwatch();
    return waiter;
  }

  #closePortWhenDone(): void {
    const isDone = this.#waiting.size === 0 && this.#unsent.length === 0 && this.#left.length === 0;
    if (this.#isClosed && isDone) this.#port.close();
  }

  /** The port has closed: in order, or because the thread of the store has ended. */
  #end(): void {
    this.#isClosed = true;
    for (const number of [...this.#waiting.keys()]) {
      this.#take(number)?.reject(
        new PlantError("unavailable", "the store has gone away before it answered; try again"),
      );
    }
    this.#ended.resolve();
  }
}

interface Waiter {
  readonly bytes: number;
  resolve(): void;
  reject(reason: unknown): void;
  unwatch(): void;
}

function errorFrom(reason: Failure["reason"]): unknown {
  if (reason.kind === "unknown") return reason.error;
  const { code, message, field, cause } = reason;
  return new PlantError(code, message, { ...(field !== undefined && { field }), cause });
}
