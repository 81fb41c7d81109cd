import type { Http2Session, Http2Stream } from "node:http2";
import { types } from "node:util";
import { Code, ConnectError } from "@connectrpc/connect";

/**
 * The streams of a session, in their order, in place of the Map and the Set of `node:http2`, with the
 * methods that it calls.
 *
 * When V8 rehashes a Map or a Set, the old table keeps a reference to the new one. Once such a table
 * is in the old generation, it keeps every later stream of the session alive until a full collection.
 * Under load that doubles the time of collections, and a gRPC call takes 2 to 6 % more CPU.
 */
class StreamList<T> implements Iterable<T> {
  protected readonly streams: T[] = [];

  get size(): number {
    return this.streams.length;
  }

  /** Visits the streams that are there at the start. The visitor may delete them. */
  forEach(visit: (stream: T) => void): void {
    for (const stream of this) visit(stream);
  }

  [Symbol.iterator](): Iterator<T> {
    return [...this.streams].values();
  }
}

export class StreamTable<T> extends StreamList<T> {
  /** Ascending: a session numbers its streams in their order. */
  readonly #keys: number[] = [];

  get(key: number): T | undefined {
    const index = this.#placeOf(key);
    return this.#keys[index] === key ? this.streams[index] : undefined;
  }

  set(key: number, stream: T): void {
    const index = this.#placeOf(key);
    this.#keys.splice(index, 0, key);
    this.streams.splice(index, 0, stream);
  }

  delete(key: number): void {
    const index = this.#placeOf(key);
    if (this.#keys[index] !== key) return;
    this.#keys.splice(index, 1);
    this.streams.splice(index, 1);
  }

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

/** Streams without a number yet. There are few. */
class PendingStreams extends StreamList<Http2Stream> {
  add(stream: Http2Stream): void {
    this.streams.push(stream);
  }

  delete(stream: Http2Stream): void {
    const index = this.streams.indexOf(stream);
    if (index >= 0) this.streams.splice(index, 1);
  }
}

/** Call for a session without streams. @returns undefined if its state is not as expected. */
export function keepStreamsInTables(session: Http2Session): StreamTable<Http2Stream> | undefined {
  const state: SessionState = Reflect.get(session, symbolOf(session, "state"));
  if (!types.isMap(state?.streams) || !types.isSet(state.pendingStreams)) return undefined;
  const streams = new StreamTable<Http2Stream>();
  state.streams = streams;
  state.pendingStreams = new PendingStreams();
  return streams;
}

type SessionState = { streams?: unknown; pendingStreams?: unknown } | undefined;

/** The key of what `node:http2` keeps of a session; a fresh one if it keeps nothing by that name. */
function symbolOf(session: Http2Session, name: string): symbol {
  const symbols = Object.getOwnPropertySymbols(session);
  return symbols.find(({ description }) => description === name) ?? Symbol();
}

/**
 * Keeps the memory of a session for as long as its broken streams. A stream that ends between the
 * headers and the trailers of its peer keeps headers in that memory. If V8 collects the session
 * before such a stream, Node aborts the process (`current_nghttp2_memory_`). So anybody could end
 * it. Call the result for each stream that opens, and what that returns when it has closed.
 */
export function outliveStreams(session: Http2Session): (stream: Http2Stream) => () => void {
  const symbol = symbolOf(session, "kHandle");
  const handleOf = (owner: object): object | undefined => Reflect.get(owner, symbol);
  // Weakly: the streams of a handle would keep their session, and that the handle.
  const kept = handleOf(session);
  const handle = kept && new WeakRef(kept);
  return (stream) => {
    let own = handleOf(stream);
    return () => {
      const isWhole = stream.rstCode === 0 && stream.readableEnded;
      if (!isWhole && own !== undefined) handles.register(own, handle?.deref());
      own = undefined; // or the session would keep it
    };
  };
}

/** Holds the handle of a session until the handle of its stream is collected. */
const handles = new FinalizationRegistry<unknown>(() => {});

/**
 * For `maxSessionMemory`. Above it, Node refuses each stream whose headers arrive, because answers of
 * others are unread. `createWindows` bounds these instead. Node counts in 32 bits: 4,295 overflow.
 */
export const sessionMegabytesMax = 4000;

/** The names in connect-es of the codes of RFC 9113 section 7, by number. */
const reasons = (
  "NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED " +
  "FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM " +
  "INADEQUATE_SECURITY HTTP_1_1_REQUIRED"
).split(" ");

/** What they say of a call, if not INTERNAL. Two give no reason. */
const reasonCodes: Readonly<Record<string, Code | undefined>> = {
  NO_ERROR: undefined,
  STREAM_CLOSED: undefined,
  REFUSED_STREAM: Code.Unavailable,
  CANCEL: Code.Canceled,
  ENHANCE_YOUR_CALM: Code.ResourceExhausted,
  INADEQUATE_SECURITY: Code.PermissionDenied,
  HTTP_1_1_REQUIRED: Code.PermissionDenied,
};

/** The error for a call whose stream was reset; undefined if the code gives no reason. */
export function resetReason(resetCode = 0): ConnectError | undefined {
  const name = reasons[resetCode];
  if (name === undefined) return undefined;
  const code = name in reasonCodes ? reasonCodes[name] : Code.Internal;
  const text = `http/2 stream closed with error code ${name} (0x${resetCode.toString(16)})`;
  return code && new ConnectError(text, code);
}
