import type { Http2Session, Http2Stream } from "node:http2";
import { types } from "node:util";

/**
 * The streams of a session, in place of the Map and the Set of `node:http2`, with the methods that it calls.
 *
 * When V8 rehashes a Map or a Set, the old table keeps a reference to the new one. Once such a table
 * is in the old generation, it keeps every later stream of the session alive until a full collection,
 * with all that hangs on it. Under load that doubles the time of collections.
 *
 * Few streams are open at a time, so a search through all of them is fast.
 */
export class StreamTable {
  readonly #keys: unknown[] = [];
  readonly #streams: Http2Stream[] = [];

  get size(): number {
    return this.#keys.length;
  }

  get(key: number): Http2Stream | undefined {
    return this.#streams[this.#keys.indexOf(key)];
  }

  /** @param key Not in the table: node:http2 sets each stream once. */
  set(key: unknown, stream: Http2Stream): void {
    this.#keys.push(key);
    this.#streams.push(stream);
  }

  add(stream: Http2Stream): void {
    this.set(stream, stream);
  }

  delete(key: unknown): void {
    const index = this.#keys.indexOf(key);
    if (index < 0) return;
    const [lastKey, last] = [this.#keys.pop(), this.#streams.pop()];
    if (last === undefined || index === this.#keys.length) return;
    this.#keys[index] = lastKey;
    this.#streams[index] = last;
  }

  /** Visits the streams that are there at the start. The visitor may delete them. */
  forEach(visit: (stream: Http2Stream) => void): void {
    for (const stream of [...this.#streams]) visit(stream);
  }
}

/** Call for a session without streams. A session whose state is not as expected stays as it is. */
export function keepStreamsInTables(session: Http2Session): void {
  const symbol = Object.getOwnPropertySymbols(session).find(
    ({ description }) => description === "state",
  );
  const state: SessionState = symbol === undefined ? undefined : Reflect.get(session, symbol);
  if (!types.isMap(state?.streams) || !types.isSet(state.pendingStreams)) return;
  if (state.streams.size > 0 || state.pendingStreams.size > 0) return;
  state.streams = new StreamTable();
  state.pendingStreams = new StreamTable();
}

type SessionState = { streams?: unknown; pendingStreams?: unknown } | undefined;
