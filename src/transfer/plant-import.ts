import { setTimeout as delay } from "node:timers/promises";
import { textFields } from "../plant.ts";
import type { PlantCreator } from "./grpc-client.ts";
import type { PlantRow, Row } from "./row.ts";
import { Slots } from "./slots.ts";
import { judge } from "./verdict.ts";

export interface ImportOptions {
  /** Calls in flight. */
  readonly concurrency: number;
  /** How long one row is tried again. */
  readonly retryForMs: number;
  /** Stops it: what is in flight may end for a moment, and nothing else is begun. */
  readonly signal: AbortSignal;
  /** Called for each row that was refused, in the order of the file until the import ends early. */
  readonly onRefused: (refusal: Refusal) => Promise<void>;
}

export interface Refusal {
  readonly line: number;
  readonly reason: string;
}

/** How far it is, at any time. */
export interface ImportState {
  /** Rows that the server has confirmed. */
  readonly stored: number;
  readonly refused: number;
  /** Of the file, as far as rows were begun. */
  readonly bytes: number;
  /** The line of the first row that was begun and is not yet there; all before it are done. */
  readonly firstOpenLine: number;
  /** Why rows are tried again; undefined while the server answers. */
  readonly waitingFor: string | undefined;
}

/** How it ended: with every row there or refused, or before that. */
export type ImportEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "failed"; readonly reason: string };

/** What rows in flight may hold of the heap. */
const flightBytesMax = 32 * 1024 * 1024;
/** How long calls in flight may go on when the import is stopped. */
const graceMs = 2000;
const backoffMs = { min: 50, max: 2000 } as const;

/**
 * Creates the plant of each row, many at once. Rows that were created before
 * succeed again, so an import that was stopped at any moment may be run again.
 */
export class PlantImport {
  readonly #creator: PlantCreator;
  readonly #options: ImportOptions;
  readonly #slots: Slots;
  /** Rows that are not done, in the order of the file. */
  readonly #open = new Set<Row>();
  /** Refusals that wait for the rows before them, and so keep their slots. */
  readonly #refusals = new Map<Row, () => void>();
  /** Ends the waiting for a next try, and soon the calls. */
  readonly #ended = new AbortController();
  #failure: string | undefined;
  #crash: unknown;
  #stored = 0;
  #refused = 0;
  #bytes = 0;
  #line = 0;
  #waitingFor: string | undefined;

  constructor(creator: PlantCreator, options: ImportOptions) {
    this.#creator = creator;
    this.#options = options;
    this.#slots = new Slots({ count: options.concurrency, bytes: flightBytesMax });
  }

  get state(): ImportState {
    const [firstOpen] = this.#open;
    return {
      stored: this.#stored,
      refused: this.#refused,
      bytes: this.#bytes,
      firstOpenLine: firstOpen?.line ?? this.#line + 1,
      waitingFor: this.#waitingFor,
    };
  }

  /** Aborts when no further row will be begun: ends a source that may have none for long. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** @throws What the rows, or who is told of refusals, throw. */
  async run(rows: AsyncIterable<Row>): Promise<ImportEnd> {
    const stop = () => this.#end();
    this.#options.signal.addEventListener("abort", stop, { once: true });
    if (this.#options.signal.aborted) stop();
    try {
      await this.#begin(rows);
    } finally {
      await this.#slots.empty();
      this.#options.signal.removeEventListener("abort", stop);
    }
    if (this.#crash !== undefined) throw this.#crash;
    if (this.#failure !== undefined) return { kind: "failed", reason: this.#failure };
    return { kind: this.#options.signal.aborted ? "interrupted" : "complete" };
  }

  async #begin(rows: AsyncIterable<Row>): Promise<void> {
    try {
      for await (const row of rows) {
        if (this.#isEnded) return;
        const size = row.kind === "plant" ? sizeOf(row) : 0;
        await this.#slots.take(size);
        if (this.#isEnded) return this.#slots.release(size);
        this.#open.add(row);
        void this.#settle(row).finally(() => this.#slots.release(size));
        this.#line = row.line;
        this.#bytes = row.bytes;
      }
    } catch (error) {
      // A source that ends because it was told to has no more to say.
      if (!this.#isEnded) throw error;
    }
  }

  get #isEnded(): boolean {
    return this.#ended.signal.aborted;
  }

  #end(): void {
    this.#ended.abort();
    this.#reportRefusals();
    setTimeout(() => this.#creator.close(), graceMs).unref();
  }

  async #settle(row: Row): Promise<void> {
    try {
      await (row.kind === "plant" ? this.#create(row) : this.#refuse(row, row.reason));
    } catch (error) {
      this.#crash ??= error;
      this.#end();
    }
  }

  async #create(row: PlantRow): Promise<void> {
    const begin = performance.now();
    for (let tries = 1; ; tries++) {
      try {
        await this.#creator.create(row.plant);
        this.#stored++;
        this.#close(row);
        this.#waitingFor = undefined;
        return;
      } catch (error) {
        const verdict = judge(error);
        if (verdict.kind === "refused") {
          return await this.#refuse(row, verdict.reason);
        }
        if (this.#isEnded) return;
        if (verdict.kind === "hopeless") return this.#fail(verdict.reason);
        const pauseMs = Math.max(verdict.delayMs, backoff(tries));
        if (performance.now() + pauseMs - begin > this.#options.retryForMs) {
          return this.#fail(
            `the server did not take the row of line ${row.line}: ${verdict.reason}`,
          );
        }
        this.#waitingFor = verdict.reason;
        const signal = this.#ended.signal;
        await delay(pauseMs, undefined, { signal }).catch(() => {});
        if (this.#isEnded) return;
      }
    }
  }

  async #refuse(row: Row, reason: string): Promise<void> {
    const turn = Promise.withResolvers<void>();
    this.#refusals.set(row, turn.resolve);
    this.#reportRefusals();
    await turn.promise;
    this.#refused++;
    await this.#options.onRefused({ line: row.line, reason });
    this.#refusals.delete(row);
    this.#close(row);
  }

  #close(row: Row): void {
    this.#open.delete(row);
    this.#reportRefusals();
  }

  /** Reports the refusal of the first open row, if there is one; at the end, all that wait. */
  #reportRefusals(): void {
    for (const row of this.#open) {
      this.#refusals.get(row)?.();
      if (!this.#isEnded) return;
    }
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#end();
  }
}

/** In the heap, at most: two bytes a character. */
function sizeOf({ plant }: PlantRow): number {
  return textFields.reduce((bytes, field) => bytes + 2 * (plant[field]?.length ?? 0), 0);
}

/** Doubles, and spreads those who wait for the same. */
function backoff(tries: number): number {
  const whole = Math.min(backoffMs.min * 2 ** (tries - 1), backoffMs.max);
  return whole * (0.5 + Math.random() / 2);
}
