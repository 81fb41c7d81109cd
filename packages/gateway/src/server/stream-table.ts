import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { types } from "node:util";

/**
 * Streams of a session by their number, as in a Map, or by themselves, as in a Set: as much of
 * both as node:http2 uses.
 *
 * When V8 makes the table of a Map or a Set anew, the old one still holds its members and the new
 * table. Once one such table has grown old, so does every stream that the session ever has, with
 * all that hangs on it, until the next whole collection; and that makes the next table old. Under
 * load, collections took a tenth of the time, and stood still for 20 to 80 ms every second.
 *
 * There are few streams at a time, so they are looked for one by one.
 */
export class StreamTable {
  readonly #keys: unknown[] = [];
  readonly #streams: ServerHttp2Stream[] = [];

  get size(): number {
    return this.#keys.length;
  }

  get(key: number): ServerHttp2Stream | undefined {
    return this.#streams[this.#keys.indexOf(key)];
  }

  /** @param key Of no other stream: node:http2 sets each number once. */
  set(key: number, stream: ServerHttp2Stream): void {
    this.#keys.push(key);
    this.#streams.push(stream);
  }

  add(stream: ServerHttp2Stream): void {
    this.#keys.push(stream);
    this.#streams.push(stream);
  }

  delete(key: unknown): void {
    const index = this.#keys.indexOf(key);
    if (index < 0) return;
    const [lastKey, last] = [this.#keys.pop(), this.#streams.pop()];
    if (last === undefined || index === this.#keys.length) return;
    this.#keys[index] = lastKey;
    this.#streams[index] = last;
  }

  /** Those of now; they may be deleted meanwhile. */
  forEach(visit: (stream: ServerHttp2Stream) => void): void {
    for (const stream of [...this.#streams]) visit(stream);
  }
}

/** Gives a session that has had no streams yet such tables, if it is made as this file knows it. */
export function keepStreamsInTables(session: ServerHttp2Session): void {
  const symbol = Object.getOwnPropertySymbols(session).find(
    ({ description }) => description === "state",
  );
  if (symbol === undefined) return;
  const state = (session as unknown as Record<symbol, SessionState | undefined>)[symbol];
  if (!types.isMap(state?.streams) || !types.isSet(state.pendingStreams)) return;
  if (state.streams.size > 0 || state.pendingStreams.size > 0) return;
  state.streams = new StreamTable();
  state.pendingStreams = new StreamTable();
}

interface SessionState {
  streams?: unknown;
  pendingStreams?: unknown;
}
