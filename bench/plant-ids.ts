/** A stream of ids that no other stream repeats. */
export interface IdStream {
  /** The number of the stream: below {@link idStreamsMax}, each used once in a run. */
  readonly stream: number;
  readonly order: IdOrder;
}

/** Ascending: each new plant is added at one end. Random: anywhere among the existing ones. */
export type IdOrder = "ascending" | "random";

export const idStreamsMax = 900_000;

/**
 * Every id has 16 digits, takes 8 bytes as a varint, and is exact in a double. So all requests have
 * the same length, and servers that read JSON with `JSON.parse` store the same plants as others.
 */
const idMin = 1e15;

/** How many ids an ascending stream may use before it would overlap with the next. */
export const ascendingIdsMax = 2 ** 31;

/**
 * The id of the n-th plant of a stream. It is odd; the plants that a store is filled with have even
 * ids.
 */
export function plantId({ stream, order }: IdStream, n: number): number {
  switch (order) {
    case "ascending":
      return idMin + stream * 2 * ascendingIdsMax + 2 * n + 1;
    case "random":
      return idMin + scatter(n) * 2 * idStreamsMax + 2 * stream + 1;
  }
}

/** The multiplier is odd, so that 32-bit numbers are mapped one to one. */
function scatter(n: number): number {
  return Math.imul(n, 0x9e37_79b1) >>> 0;
}

/** Even ids, evenly distributed over the whole range of {@link plantId}. */
export function spreadIds(count: number): { readonly first: number; readonly step: number } {
  const range = 2 ** 32 * 2 * idStreamsMax;
  return { first: idMin, step: 2 * Math.floor(range / count / 2) };
}

/** Hands out streams, each once. */
export class IdStreams {
  #next = 0;

  /** @returns The first of `count` consecutive streams. */
  take(count = 1): number {
    const first = this.#next;
    this.#next += count;
    if (this.#next > idStreamsMax) throw new RangeError("no stream of ids is left");
    return first;
  }
}
