import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../backoff.ts";
import { textFields } from "../plant.ts";
import type { PlantCreator } from "./grpc-client.ts";
import { writeNdjsonLine } from "./ndjson.ts";
import type { PlantRow, Row } from "./row.ts";
import { judge } from "./verdict.ts";

export interface ImportOptions {
  readonly concurrency: number;
  /** How long rows are retried while none is stored or rejected, in ms. */
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

export interface ImportState {
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

const flightBytesMax = 32 * 1024 * 1024;
/** How long calls in flight may continue after a stop. */
const graceMs = 2000;
const pauses = { backoffMinMs: 50, backoffMaxMs: 2000 };

/** Many rows at once. Safe to repeat: rows that are stored succeed again. */
export function createPlantImport(creator: PlantCreator, options: ImportOptions) {
  const { concurrency, retryForMs, signal, onRejected } = options;
  const slots = createSlots({ count: concurrency, bytes: flightBytesMax });
  /** Rows that are not done, in file order. */
  const open = new Set<Row>();
  /** Rejections that wait for the rows before them. They keep their slots. */
  const rejections = new Map<Row, () => void>();
  /** Ends pauses before retries, and then the calls. */
  const controller = new AbortController();
  const ended = controller.signal;
  let failure: string | undefined;
  let crash: unknown;
  let stored = 0;
  let rejected = 0;
  let line = 0;
  let waitingFor: string | undefined;
  /** When a row was last stored or rejected. */
  let closedAt = 0;
  return {
    /** Aborts when no further row will be started. Use it to end a source that may block. */
    ended,
    run,
    get state(): ImportState {
      const [firstOpen] = open;
      return { stored, rejected, firstOpenLine: firstOpen?.line ?? line + 1, waitingFor };
    },
  };

  /** @throws the error of the rows, or of `onRejected`. */
  async function run(rows: AsyncIterable<Row>): Promise<ImportEnd> {
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    try {
      await begin(rows);
    } finally {
      await slots.empty();
      signal.removeEventListener("abort", end);
    }
    if (crash !== undefined) throw crash;
    if (failure !== undefined) return { kind: "failed", reason: failure };
    return { kind: signal.aborted ? "interrupted" : "complete" };
  }

  async function begin(rows: AsyncIterable<Row>): Promise<void> {
    try {
      for await (const row of rows) {
        if (ended.aborted) return;
        const size = sizeOf(row);
        await slots.take(size);
        if (ended.aborted) return slots.release(size);
        open.add(row);
        void settle(row).finally(() => slots.release(size));
        line = row.line;
      }
    } catch (error) {
      // The source ended because of the stop; its error is expected.
      if (!ended.aborted) throw error;
    }
  }

  function end(): void {
    controller.abort();
    reportRejections();
    setTimeout(() => creator.close(), graceMs).unref();
  }

  async function settle(row: Row): Promise<void> {
    try {
      await (row.kind === "plant" ? create(row) : reject(row, row.reason));
    } catch (error) {
      crash ??= error;
      end();
    }
  }

  async function create(row: PlantRow): Promise<void> {
    const beganAt = performance.now();
    let failedAt = beganAt;
    for (let tries = 1; ; tries++) {
      try {
        await creator.create(row.plant);
        stored++;
        close(row);
        waitingFor = undefined;
        return;
      } catch (error) {
        const verdict = judge(error);
        if (verdict.kind === "rejected") return await reject(row, verdict.reason);
        if (ended.aborted) return;
        if (verdict.kind === "fatal") return fail(verdict.reason);
        const pauseMs = Math.max(verdict.delayMs, backoffMs(tries, pauses));
        // From the failure before: the process may have been stopped since.
        if (failedAt + pauseMs - Math.max(beganAt, closedAt) > retryForMs) {
          return fail(`the server did not accept line ${row.line}: ${verdict.reason}`);
        }
        failedAt = performance.now();
        waitingFor = verdict.reason;
        await delay(pauseMs, undefined, { signal: ended }).catch(() => {});
        if (ended.aborted) return;
      }
    }
  }

  async function reject(row: Row, reason: string): Promise<void> {
    const turn = Promise.withResolvers<void>();
    rejections.set(row, turn.resolve);
    reportRejections();
    await turn.promise;
    rejected++;
    const text = row.kind === "plant" ? writeNdjsonLine(row.plant).trimEnd() : row.row;
    await onRejected({ line: row.line, reason, row: text });
    rejections.delete(row);
    close(row);
  }

  function close(row: Row): void {
    open.delete(row);
    closedAt = performance.now();
    reportRejections();
  }

  /** Reports the rejection of the first open row, if it has one. At the end, reports all. */
  function reportRejections(): void {
    for (const row of open) {
      rejections.get(row)?.();
      if (!ended.aborted) return;
    }
  }

  function fail(reason: string): void {
    failure ??= reason;
    end();
  }
}

/** An upper bound of its heap: two bytes per UTF-16 code unit. */
function sizeOf(row: Row): number {
  if (row.kind === "malformed") return 2 * (row.row?.length ?? 0);
  return textFields.reduce((bytes, field) => bytes + 2 * (row.plant[field]?.length ?? 0), 0);
}

/** Limits concurrent work by number and by bytes. One caller at a time waits. */
function createSlots(max: { readonly count: number; readonly bytes: number }) {
  let count = 0;
  let bytes = 0;
  let released = Promise.withResolvers<void>();
  async function waitWhile(isFull: () => boolean): Promise<void> {
    while (isFull()) {
      released = Promise.withResolvers();
      await released.promise;
    }
  }
  return {
    /** Waits for room. An item above the limit waits until it is alone. */
    async take(size: number): Promise<void> {
      await waitWhile(() => count > 0 && (count >= max.count || bytes + size > max.bytes));
      count++;
      bytes += size;
    },
    release(size: number): void {
      count--;
      bytes -= size;
      released.resolve();
    },
    empty: () => waitWhile(() => count > 0),
  };
}
