/** A connection with room for some requests at a time. */
export interface Connection {
  /** How many requests it could take now. */
  readonly free: number;
  /**
   * Takes one request; {@link flush} sends it.
   *
   * @param startedAt Where its latency counts from, on the clock of `performance.now()`.
   */
  add(startedAt: number): void;
  flush(): void;
  close(): void;
}

/** Who is told what comes of the requests. */
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
