import { setTimeout as delay } from "node:timers/promises";
import type { NewPlant } from "../../plant.ts";
import type { RowOutcome } from "../engine.ts";
import { heapBytes } from "../group-commit.ts";
import { backoffMs } from "./backoff.ts";
import { mayPass } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";

/** Runs one statement; all rows of it are stored, or it fails. */
export type Write = (plants: readonly NewPlant[]) => Promise<readonly RowOutcome[]>;

/** How much of the heap all nodes of a store may keep waiting. */
export interface Room {
  bytes: number;
}

interface Straggler {
  readonly plant: NewPlant;
  readonly bytes: number;
  readonly lateAt: number;
  readonly outcome: PromiseWithResolvers<RowOutcome>;
}

/**
 * The plants of one node of a cluster. While a node fails, its plants wait here
 * and are tried again; those of other nodes are not held up.
 */
export class NodeWrites {
  readonly #write: Write;
  readonly #limits: PostgresLimits;
  readonly #room: Room;
  #isFailing = false;
  #stragglers: Straggler[] = [];
  #retrying: Promise<void> | undefined;

  constructor(write: Write, limits: PostgresLimits, room: Room) {
    this.#write = write;
    this.#limits = limits;
    this.#room = room;
  }

  /** Whether its last statement has failed. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** @returns One outcome a plant; a promise for one that is tried again. */
  async write(plants: readonly NewPlant[]): Promise<readonly (RowOutcome | Promise<RowOutcome>)[]> {
    if (!this.#isFailing) {
      try {
        return await this.#write(plants);
      } catch (error) {
        if (!mayPass(error)) throw error;
        this.#isFailing = true;
      }
    }
    return plants.map((plant) => this.#retryLater(plant));
  }

  /** Resolves when nothing waits. */
  async drain(): Promise<void> {
    await this.#retrying;
  }

  #retryLater(plant: NewPlant): Promise<RowOutcome> {
    const outcome = Promise.withResolvers<RowOutcome>();
    // Whoever asked for it may have left.
    outcome.promise.catch(() => {});
    const bytes = heapBytes(plant);
    if (this.#room.bytes + bytes > this.#limits.stragglerBytesMax) {
      outcome.reject(new Error("too many plants wait for nodes that fail"));
    } else {
      this.#room.bytes += bytes;
      const lateAt = performance.now() + this.#limits.retryLimitMs;
      this.#stragglers.push({ plant, bytes, lateAt, outcome });
      this.#retrying ??= this.#retry();
    }
    return outcome.promise;
  }

  /** Until nothing waits. */
  async #retry(): Promise<void> {
    let rowsAtOnce = this.#limits.retryRowsMax;
    for (let failures = 1; this.#stragglers.length > 0; ) {
      if (failures > 0) await delay(backoffMs(failures, this.#limits));
      const tried = this.#stragglers.splice(0, rowsAtOnce);
      try {
        const outcomes = await this.#write(tried.map(({ plant }) => plant));
        tried.forEach(({ outcome }, index) => {
          outcome.resolve(outcomes[index] as RowOutcome);
        });
        this.#leave(tried);
        this.#isFailing = false;
        rowsAtOnce = this.#limits.retryRowsMax;
        failures = 0;
      } catch (error) {
        // A single row may be the reason: fewer are tried together, and others first.
        rowsAtOnce = Math.ceil(tried.length / 2);
        failures++;
        if (mayPass(error)) this.#stragglers.push(...tried);
        else this.#fail(tried, error);
        this.#failLate(error);
      }
    }
    this.#retrying = undefined;
  }

  #failLate(error: unknown): void {
    const now = performance.now();
    this.#fail(
      this.#stragglers.filter(({ lateAt }) => lateAt <= now),
      error,
    );
    this.#stragglers = this.#stragglers.filter(({ lateAt }) => lateAt > now);
  }

  #fail(stragglers: readonly Straggler[], error: unknown): void {
    for (const { outcome } of stragglers) outcome.reject(error);
    this.#leave(stragglers);
  }

  #leave(stragglers: readonly Straggler[]): void {
    for (const { bytes } of stragglers) this.#room.bytes -= bytes;
  }
}
