import { setTimeout as delay } from "node:timers/promises";
import type { NewPlant } from "../../plant.ts";
import { backoffMs } from "../backoff.ts";
import type { RowOutcome } from "../engine.ts";
import { heapBytes } from "../heap-bytes.ts";
import { mayPass } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";

/** Runs one statement. It stores all its rows, or fails. */
export type Write = (plants: readonly NewPlant[]) => Promise<readonly RowOutcome[]>;

/** The heap held by the plants that wait for all nodes of a store. */
export interface Room {
  bytes: number;
}

/** A part of a batch. */
interface Part {
  readonly plants: readonly NewPlant[];
  readonly outcomes: PromiseWithResolvers<readonly RowOutcome[]>;
}

interface Straggler {
  readonly plant: NewPlant;
  readonly bytes: number;
  readonly lateAt: number;
  readonly outcome: PromiseWithResolvers<RowOutcome>;
}

/**
 * Writes the plants of one node of a cluster. Waiting parts of several batches share a statement,
 * because each statement costs the node a two-phase commit. While a node fails, its plants wait
 * here and are retried; plants of other nodes are not delayed.
 */
export class NodeWrites {
  readonly #write: Write;
  readonly #limits: PostgresLimits;
  readonly #room: Room;
  readonly #statementsMax: number;
  #statements = 0;
  #parts: Part[] = [];
  #isFailing = false;
  #stragglers: Straggler[] = [];
  #retrying: Promise<void> | undefined;

  /**
   * @param statementsMax How many statements of batches run in parallel. A retry runs in addition.
   */
  constructor(
    write: Write,
    { limits, room, statementsMax }: { limits: PostgresLimits; room: Room; statementsMax: number },
  ) {
    this.#write = write;
    this.#statementsMax = statementsMax;
    this.#limits = limits;
    this.#room = room;
  }

  /** Whether its last statement failed. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** @returns One outcome a plant, or a promise for a plant that is being retried. */
  async write(plants: readonly NewPlant[]): Promise<readonly (RowOutcome | Promise<RowOutcome>)[]> {
    if (!this.#isFailing) {
      try {
        return await this.#share(plants);
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

  #share(plants: readonly NewPlant[]): Promise<readonly RowOutcome[]> {
    const part: Part = { plants, outcomes: Promise.withResolvers() };
    this.#parts.push(part);
    this.#begin();
    return part.outcomes.promise;
  }

  #begin(): void {
    if (this.#statements >= this.#statementsMax || this.#parts.length === 0) return;
    this.#statements++;
    void this.#writeParts(this.#takeParts()).then(() => {
      this.#statements--;
      this.#begin();
    });
  }

  /** Takes at least one part, and together no more than the size of a batch. */
  #takeParts(): readonly Part[] {
    let [count, rows, bytes] = [0, 0, 0];
    for (const { plants } of this.#parts) {
      rows += plants.length;
      for (const plant of plants) bytes += heapBytes(plant);
      if (count > 0 && (rows > this.#limits.rowsMax || bytes > this.#limits.bytesMax)) break;
      count++;
    }
    return this.#parts.splice(0, count);
  }

  async #writeParts(parts: readonly Part[]): Promise<void> {
    try {
      const outcomes = await this.#write(parts.flatMap(({ plants }) => plants));
      let begin = 0;
      for (const part of parts) {
        const end = begin + part.plants.length;
        part.outcomes.resolve(outcomes.slice(begin, end));
        begin = end;
      }
    } catch (error) {
      for (const part of parts) part.outcomes.reject(error);
    }
  }

  #retryLater(plant: NewPlant): Promise<RowOutcome> {
    const outcome = Promise.withResolvers<RowOutcome>();
    // The caller may have left.
    outcome.promise.catch(() => {});
    const bytes = heapBytes(plant);
    if (this.#room.bytes + bytes > this.#limits.stragglerBytesMax) {
      outcome.reject(new Error("too many plants wait for failed nodes"));
    } else {
      this.#room.bytes += bytes;
      const lateAt = performance.now() + this.#limits.retryLimitMs;
      this.#stragglers.push({ plant, bytes, lateAt, outcome });
      this.#retrying ??= this.#retry();
    }
    return outcome.promise;
  }

  /** Runs until nothing waits. */
  async #retry(): Promise<void> {
    let rowsAtOnce = this.#limits.rowsMax;
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
        rowsAtOnce = this.#limits.rowsMax;
        failures = 0;
      } catch (error) {
        // A single row may be the cause, so retry fewer rows at once, and others first.
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
