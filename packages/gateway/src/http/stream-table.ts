import type { Http2Session, Http2Stream } from "node:http2";
import { types } from "node:util";

/**
 * The streams of a session, in their order, in place of the Map and the Set of `node:http2`, with the
 * methods that it calls.
 *
 * When V8 rehashes a Map or a Set, the old table keeps a reference to the new one. Once such a table
 * is in the old generation, it keeps every later stream of the session alive until a full collection,
 * with all that hangs on it. Under load that doubles the time of collections.
 */
export class StreamTable<T> implements Iterable<T> {
  /** Ascending: a session numbers its streams in their order. */
  readonly #keys: number[] = [];
  readonly #streams: T[] = [];

  get size(): number {
    return this.#keys.length;
  }

  get(key: number): T | undefined {
    const index = this.#placeOf(key);
    return this.#keys[index] === key ? this.#streams[index] : undefined;
  }

  set(key: number, stream: T): void {
    const index = this.#placeOf(key);
    this.#keys.splice(index, 0, key);
    this.#streams.splice(index, 0, stream);
  }

  delete(key: number): void {
    const index = this.#placeOf(key);
    if (this.#keys[index] !== key) return;
    this.#keys.splice(index, 1);
    this.#streams.splice(index, 1);
  }

  /** Visits the streams that are there at the start. The visitor may delete them. */
  forEach(visit: (stream: T) => void): void {
    for (const stream of this) visit(stream);
  }

  [Symbol.iterator](): Iterator<T> {
    return [...this.#streams].values();
  }

  /** The index of the first key that is not less. */
  #placeOf(key: number): number {
    const keys = this.#keys;
    let from = 0;
    let to = keys.length;
    if (to === 0 || (keys[to - 1] as number) < key) return to; // a new stream
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((keys[middle] as number) < key) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** Streams without a number yet, in place of a Set. There are few. */
class PendingStreams {
  readonly #streams: Http2Stream[] = [];

  get size(): number {
    return this.#streams.length;
  }

  add(stream: Http2Stream): void {
    this.#streams.push(stream);
  }

  delete(stream: Http2Stream): void {
    const index = this.#streams.indexOf(stream);
    if (index >= 0) this.#streams.splice(index, 1);
  }

  forEach(visit: (stream: Http2Stream) => void): void {
    for (const stream of [...this.#streams]) visit(stream);
  }
}

/**
 * Call for a session without streams.
 *
 * @returns its streams; undefined if its state is not as expected. Then it stays as it is.
 */
export function keepStreamsInTables(session: Http2Session): StreamTable<Http2Stream> | undefined {
  const symbol = Object.getOwnPropertySymbols(session).find(
    ({ description }) => description === "state",
  );
  const state: SessionState = symbol === undefined ? undefined : Reflect.get(session, symbol);
  if (!types.isMap(state?.streams) || !types.isSet(state.pendingStreams)) return undefined;
  if (state.streams.size > 0 || state.pendingStreams.size > 0) return undefined;
  const streams = new StreamTable<Http2Stream>();
  state.streams = streams;
  state.pendingStreams = new PendingStreams();
  return streams;
}

type SessionState = { streams?: unknown; pendingStreams?: unknown } | undefined;
