/**
 * The memory of a queue: rows on their way from one thread, the producer, to
 * another, the consumer. Words first, then a ring of records.
 *
 * The producer writes a record, then counts it as published. The consumer decides
 * its fate in place, then counts it as reported. Only then does the producer
 * write over it. So each byte has one writer at a time, and the counts, which are
 * written and read by `Atomics`, order what is around them.
 */
import { textFields } from "../../../plant.ts";

/** Counts of rows wrap at 32 bits: compare them by {@link distance}. */
export const word = {
  /** Rows that the producer has written. */
  published: 0,
  /** Rows that the consumer has taken into a commit, or passed over. */
  taken: 1,
  /** Rows whose outcome is known. */
  reported: 2,
  /** Changes when there is something to look at: what the producer waits for. */
  news: 3,
  /** 1: the producer has left, and nothing more is taken. */
  hasLeft: 4,
  /** Rows up to which a commit is worth its while: they and all behind them may be taken. */
  due: 5,
} as const;

export const rowState = {
  waiting: 0,
  /** Its caller left before it was taken. */
  withdrawn: 1,
  /** Part of the commit that is under way. */
  taken: 2,
  created: 3,
  idTaken: 4,
  /** It is not known that its commit is durable. */
  failed: 5,
  /** No row: the next one is at the start of the ring. */
  wrap: 6,
} as const;

const wordsBytes = 64;

/** Thousands of ordinary rows. What does not fit waits with the producer. */
export const ringBytes = 1024 * 1024;

/** Where the parts of a record are, in words of 32 bits from its start. */
export const field = {
  state: 0,
  /** Written by the producer: bytes to the next record. By the consumer: rows of the commit, in its first row alone. */
  size: 1,
  commitRows: 1,
  /** By the producer: what the row counts for in limits of bytes. By the consumer: how long the commit took. */
  heapBytes: 2,
  commitUs: 2,
  /** Bytes of the first text; of the others behind it. */
  lengths: 3,
} as const;

/** In place of a length: there is no text. */
export const noText = -1;

/** In place of the first length: the texts are in a message, as they are too long for the ring. */
export const textsInMessage = -2;

const lengthsEnd = (field.lengths + textFields.length) * 4;

/** In bytes from the start of a record, as the next two. */
export const idOffset = align(lengthsEnd);
export const textsOffset = idOffset + 8;

/** Records begin at whole multiples of 8 bytes. */
export function align(bytes: number): number {
  return (bytes + 7) & ~7;
}

/** How far a count of rows is ahead of another. */
export function distance(later: number, earlier: number): number {
  return (later - earlier) | 0;
}

/** The parts of a queue's memory. */
export interface QueueViews {
  readonly words: Int32Array;
  readonly ring: {
    readonly words: Int32Array;
    readonly ids: BigInt64Array;
    readonly bytes: Buffer;
  };
}

export function createQueueMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(wordsBytes + ringBytes);
}

export function viewQueue(memory: SharedArrayBuffer): QueueViews {
  return {
    words: viewWords(memory),
    ring: {
      words: new Int32Array(memory, wordsBytes),
      ids: new BigInt64Array(memory, wordsBytes),
      bytes: Buffer.from(memory, wordsBytes),
    },
  };
}

/** Tells the producer that there is something to look at. */
export function notifyProducer(memory: SharedArrayBuffer): void {
  const words = viewWords(memory);
  Atomics.add(words, word.news, 1);
  Atomics.notify(words, word.news);
}

/** The producer has left. */
export function leaveQueue(memory: SharedArrayBuffer): void {
  Atomics.store(viewWords(memory), word.hasLeft, 1);
}

function viewWords(memory: SharedArrayBuffer): Int32Array {
  return new Int32Array(memory, 0, wordsBytes / 4);
}
