import type { MessagePort } from "node:worker_threads";

/** The producer's end of a queue, to be given to its thread. Transfer the port. */
export interface QueueEnd {
  readonly memory: SharedArrayBuffer;
  /** That of the consumer's bell. */
  readonly bell: SharedArrayBuffer;
  readonly port: MessagePort;
}

/** From the producer, by its port: texts too long for the ring, in the order of their rows. */
export type LongTexts = readonly (string | null)[];

/** To the producer, by its port, ahead of the report: why commits failed. */
export interface CommitFailure {
  readonly code: string;
  readonly message: string;
}
