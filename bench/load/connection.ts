/** A connection with room for a number of concurrent requests. */
export interface Connection {
  /** How many requests it can accept now. */
  readonly free: number;
  /**
   * Adds one request; {@link flush} sends it.
   *
   * @param startedAt The start of its latency, on the clock of `performance.now()`.
   */
  add(startedAt: number): void;
  flush(): void;
  close(): void;
}

/** Receives the results of requests. */
export interface Answers {
  onAnswer(isRight: boolean, startedAt: number, now: number): void;
  /** Called after the answers that arrived together. */
  onFree(connection: Connection, now: number): void;
  /** The connection cannot be used any more. */
  onBroken(error: Error): void;
}

export interface Target {
  readonly host: string;
  readonly port: number;
  /** The id of the next plant. */
  readonly nextId: () => number;
  readonly answers: Answers;
}
