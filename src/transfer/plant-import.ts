import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../backoff.ts";
import { textFields } from "../plant.ts";
import type { PlantCreator } from "./grpc-client.ts";
import { writeNdjsonLine } from "./ndjson.ts";
import type { PlantRow, Row } from "./row.ts";
import { judge } from "./verdict.ts";

export interface ImportOptions {
  readonly concurrency: number;
  /** How long a row is retried, in ms. */
  readonly retryForMs: number;
  /** Stops the import: calls in flight get a short time to finish, and no row is started. */
  readonly signal: AbortSignal;
  /** Called for each rejected row, in file order until the import ends early. */
  readonly onRejected: (rejection: Rejection) => Promise<void>;
}

export interface Rejection {
  readonly line: number;
  readonly reason: string;
  /** As JSON. Undefined if the row was too long to keep. */
  readonly row: string | undefined;
}

/** A snapshot of the import's progress. */
export interface ImportState {
  /** Rows that the server has confirmed. */
  readonly stored: number;
  readonly rejected: number;
  /** The line of the first row that is started but not done. All rows before it are done. */
  readonly firstOpenLine: number;
  /** Why rows are being retried; undefined while the server answers. */
  readonly waitingFor: string | undefined;
}

/** The outcome: `complete` if every row is stored or rejected. */
export type ImportEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "failed"; readonly reason: string };

/** Heap for the rows in flight. */
const flightBytesMax = 32 * 1024 * 1024;
/** How long calls in flight may continue after a stop. */
const graceMs = 2000;
const pauses = { backoffMinMs: 50, backoffMaxMs: 2000 };

/** Many rows at once. Safe to repeat: rows that are stored succeed again. */
export class PlantImport {
  readonly #creator: PlantCreator;
  readonly #options: ImportOptions;
  readonly #slots: Slots;
  /** Rows that are not done, in file order. */
  readonly #open = new Set<Row>();
  /** Rejections that wait for the rows before them. They keep their slots. */
  readonly #rejections = new Map<Row, () => void>();
  /** Ends pauses before retries, and then the calls. */
  readonly #ended = new AbortController();
  #failure: string | undefined;
  #crash: unknown;
  #stored = 0;
  #rejected = 0;
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
      rejected: this.#rejected,
      firstOpenLine: firstOpen?.line ?? this.#line + 1,
      waitingFor: this.#waitingFor,
    };
  }

  /** Aborts when no further row will be started. Use it to end a source that may block. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** @throws the error of the rows, or of `onRejected`. */
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
        const size = sizeOf(row);
        await this.#slots.take(size);
        if (this.#isEnded) return this.#slots.release(size);
        this.#open.add(row);
        void this.#settle(row).finally(() => this.#slots.release(size));
        this.#line = row.line;
      }
    } catch (error) {
      // The source ended because of the stop; its error is expected.
      if (!this.#isEnded) throw error;
    }
  }

  get #isEnded(): boolean {
    return this.#ended.signal.aborted;
  }

  #end(): void {
    this.#ended.abort();
    this.#reportRejections();
    setTimeout(() => this.#creator.close(), graceMs).unref();
  }

  async #settle(row: Row): Promise<void> {
    try {
      await (row.kind === "plant" ? this.#create(row) : this.#reject(row, row.reason));
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
        if (verdict.kind === "rejected") {
          return await this.#reject(row, verdict.reason);
        }
        if (this.#isEnded) return;
        if (verdict.kind === "fatal") return this.#fail(verdict.reason);
        const pauseMs = Math.max(verdict.delayMs, backoffMs(tries, pauses));
        if (performance.now() + pauseMs - begin > this.#options.retryForMs) {
          return this.#fail(`the server did not accept line ${row.line}: ${verdict.reason}`);
        }
        this.#waitingFor = verdict.reason;
        const signal = this.#ended.signal;
        await delay(pauseMs, undefined, { signal }).catch(() => {});
        if (this.#isEnded) return;
      }
    }
  }

  async #reject(row: Row, reason: string): Promise<void> {
    const turn = Promise.withResolvers<void>();
    this.#rejections.set(row, turn.resolve);
    this.#reportRejections();
    await turn.promise;
    this.#rejected++;
    const text = row.kind === "plant" ? writeNdjsonLine(row.plant).trimEnd() : row.row;
    await this.#options.onRejected({ line: row.line, reason, row: text });
    this.#rejections.delete(row);
    this.#close(row);
  }

  #close(row: Row): void {
    this.#open.delete(row);
    this.#reportRejections();
  }

  /** Reports the rejection of the first open row, if it has one. At the end, reports all. */
  #reportRejections(): void {
    for (const row of this.#open) {
      this.#rejections.get(row)?.();
      if (!this.#isEnded) return;
    }
  }

  #fail(reason: string): void {
    this.#failure ??= reason;
    this.#end();
  }
}

/** An upper bound of its heap: two bytes per UTF-16 code unit. */
function sizeOf(row: Row): number {
  if (row.kind === "malformed") return 2 * (row.row?.length ?? 0);
  return textFields.reduce((bytes, field) => bytes + 2 * (row.plant[field]?.length ?? 0), 0);
}

/** Limits concurrent work by number and by bytes. One caller at a time waits. */
class Slots {
  readonly #max: { readonly count: number; readonly bytes: number };
  #count = 0;
  #bytes = 0;
  #released: PromiseWithResolvers<void> | undefined;

  constructor(max: { readonly count: number; readonly bytes: number }) {
    this.#max = max;
  }

  /** Waits for room. An item above the limit waits until it is alone. */
  async take(bytes: number): Promise<void> {
    while (
      this.#count > 0 &&
      (this.#count >= this.#max.count || this.#bytes + bytes > this.#max.bytes)
    ) {
      this.#released = Promise.withResolvers();
      await this.#released.promise;
    }
    this.#count++;
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#count--;
    this.#bytes -= bytes;
    this.#released?.resolve();
  }

  async empty(): Promise<void> {
    while (this.#count > 0) {
      this.#released = Promise.withResolvers();
      await this.#released.promise;
    }
  }
}
