import type { Obstacle } from "../plant.ts";

/** Called when a store meets an obstacle, a different one, or none any more (`undefined`). */
export type OnObstacle = (obstacle: Obstacle | undefined, cause: unknown) => void;

/** @param nodes All that are unreachable now, with host and port. */
export type OnUnreachable = (nodes: readonly string[]) => void;

export interface StoreOptions {
  /** Called at most once, if the store must be opened again, preferably in a new process. */
  readonly onFailure?: (error: Error) => void;
  /** Called when an obstacle prevents creates, and again when there is none any more. */
  readonly onObstacle?: OnObstacle;
  /** Called when nodes of a cluster become unreachable or reachable, although creates succeed. */
  readonly onUnreachable?: OnUnreachable;
  /** Called with a line for an operator, about something unusual, although creates succeed. */
  readonly onNotice?: (text: string) => void;
  readonly limits?: Partial<CommitLimits>;
  readonly observer?: CommitObserver | undefined;
}

/** Bytes are the most heap that a waiting plant may hold. */
export type CommitLimits = Readonly<typeof defaultLimits>;

export const defaultLimits = {
  /**
   * How long a caller waits for its outcome, whatever the engine waits for. A failover takes
   * seconds; after ten, most callers have given up.
   */
  answerTimeoutMs: 10_000,
  /** Of one commit. Spreads the cost of a sync; in a larger batch, the first waits longer. */
  batchRowsMax: 512,
  /**
   * Of one commit; a larger plant is committed alone. Keeps a commit within tens of milliseconds,
   * so that large plants do not delay small ones.
   */
  batchBytesMax: 4 * 1024 * 1024,
  /** Less than a second of work at full speed. Callers that wait longer have usually given up. */
  waitingRowsMax: 16_384,
  /** A larger plant is always rejected. A quarter of a small container's 256 MiB heap. */
  waitingBytesMax: 64 * 1024 * 1024,
};

/** Observes the commits of a store, for metrics. Must not throw. */
export interface CommitObserver {
  /** The commit queue has changed. @param bytes The most heap it may hold. */
  queueChanged(rows: number, bytes: number): void;
  commitEnded(commit: EndedCommit): void;
  /** Called every few seconds: what a write-ahead log has that is not in the database yet. */
  logChanged?(bytes: number): void;
}

export interface EndedCommit {
  readonly rows: number;
  /** From handing the batch to the engine until its answer. */
  readonly durationMs: number;
  /** Whether the commit failed, so that it is unknown if the batch is durable. */
  readonly isFailed: boolean;
}

export interface Finding {
  /** `warn` needs a decision. `fail`: the store does not run, or plants are at risk. */
  readonly level: "ok" | "warn" | "fail";
  readonly subject: string;
  /** One line: what was found and, except for `ok`, what to do. */
  readonly text: string;
}

export function finding(level: Finding["level"], subject: string, text: string): Finding {
  return { level, subject, text };
}

export interface SchemaState {
  /** The number of applied migrations; 0 if the database is empty or missing. */
  readonly version: number;
  readonly latest: number;
}
