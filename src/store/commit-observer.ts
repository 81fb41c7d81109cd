/** Observes the commits of a store, for metrics. Must not throw. */
export interface CommitObserver {
  /** The commit queue has changed. @param bytes The most heap it may hold. */
  queueChanged(rows: number, bytes: number): void;
  commitEnded(commit: EndedCommit): void;
}

export interface EndedCommit {
  readonly rows: number;
  /** From handing the batch to the engine until its answer. */
  readonly durationMs: number;
  /** Whether the commit failed, so that it is unknown if the batch is durable. */
  readonly isFailed: boolean;
}
