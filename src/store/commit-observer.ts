/** Told of what goes on between a store and its disk or database: for metrics. Must not throw. */
export interface CommitObserver {
  /** What waits for a commit has changed. @param bytes What it may hold of the heap. */
  queueChanged(rows: number, bytes: number): void;
  commitEnded(commit: EndedCommit): void;
}

export interface EndedCommit {
  readonly rows: number;
  /** From when the engine got the batch to its answer. */
  readonly durationMs: number;
  /** Whether it is not known that the batch is durable. */
  readonly isFailed: boolean;
}
