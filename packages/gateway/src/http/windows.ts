/** Flow control of HTTP/2: how much a peer may send before somebody reads it. */
import { constants, type Http2Session, type Http2Stream } from "node:http2";
import type { Readable } from "node:stream";
import { keepStreamsInTables, type StreamTable } from "./session.ts";

/** Of a new connection's streams. Enough for 100 MB/s at 20 ms, more than a proxy transcodes in one. */
export const windowBytesMax = 2 * 1024 * 1024;

const windowBytesMin = 64 * 1024;

/** Of a connection. It bounds nothing: Node counts bytes as read when they arrive. */
const connectionWindowBytes = 8 * windowBytesMax;

/** Unread bytes of all streams in the process. */
const unreadBytesMax = 32 * 1024 * 1024;

/** How many times as many may come from clients before they have heard that windows shrink. */
const excessMax = 4;

/** A sender on the same machine can add about 20 MiB in this time. */
const lookIntervalMs = 20;

/** The objects around a piece of unread data, however small. */
const pieceBytes = 256;

/** A frame of most senders, which is then read without a copy. What a reader holds counts in the budget. */
const chunkBytesMax = 16 * 1024;

interface Session {
  readonly session: Http2Session;
  /** The window of its streams, once the peer has acknowledged it. */
  windowBytes: number;
  isAsked: boolean;
}

/**
 * The windows of all connections of a process, in both roles.
 *
 * A new stream gets as much as its distance may need. Where streams are not read, windows shrink, so that
 * each can take at most half of the room that is left. A client may ignore that, or be slow to hear it:
 * when four times as much is unread of clients, the streams that hold the most end with
 * ENHANCE_YOUR_CALM, but for those that hold no more than the smallest window. Servers that we call are trusted to stop: their
 * streams are unread because callers of ours are slow, and those must not lose them.
 */
export class Windows {
  readonly #sessions = new Map<Session, StreamTable<Http2Stream>>();
  readonly #unreadBytesMax: number;
  #windowBytes = windowBytesMax;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(bytesMax = unreadBytesMax) {
    this.#unreadBytesMax = bytesMax;
    this.#adapt(0);
  }

  /** Call for a new session whose first settings have `windowBytesMax`. */
  add(session: Http2Session): void {
    const streams = keepStreamsInTables(session);
    const one = { session, windowBytes: windowBytesMax, isAsked: false };
    const open = () => {
      if (session.destroyed) return; // it connects even then
      session.setLocalWindowSize(connectionWindowBytes);
      if (streams === undefined) session.settings({ initialWindowSize: windowBytesMin });
      else this.#tell(one);
    };
    if (session.connecting) session.once("connect", open);
    else open();
    if (streams === undefined) return;
    this.#sessions.set(one, streams);
    session.once("close", () => this.#sessions.delete(one));
  }

  watch(): void {
    this.#timer ??= setTimeout(this.#look, lookIntervalMs).unref();
  }

  readonly #look = () => {
    const begun = performance.now();
    const held = new Map<Http2Stream, number>();
    const seen = new Set<ArrayBufferLike>();
    let unread = 0;
    let ofClients = 0;
    let isWatching = false;
    for (const [{ session }, streams] of this.#sessions) {
      if (streams.size > 0) isWatching = true;
      for (const stream of streams) {
        if (stream.readableLength === 0) continue;
        const bytes = unreadBytes(stream, seen);
        unread += bytes;
        if (session.type !== constants.NGHTTP2_SESSION_SERVER) continue;
        held.set(stream, bytes);
        ofClients += bytes;
      }
    }
    const tooMany = ofClients - excessMax * this.#unreadBytesMax;
    if (tooMany > 0) unread -= this.#end(held, tooMany + this.#unreadBytesMax);
    this.#adapt(unread);
    for (const [one, streams] of this.#sessions) if (streams.size > 0) this.#tell(one);
    this.#timer = undefined;
    if (!isWatching && unread === 0) return;
    // At most a fiftieth of the time.
    const pauseMs = Math.max(lookIntervalMs, 50 * (performance.now() - begun));
    this.#timer = setTimeout(this.#look, pauseMs).unref();
  };

  /** Halves windows at once, and doubles them step by step, with a margin. */
  #adapt(unread: number): void {
    const free = this.#unreadBytesMax - unread;
    if (free >= 6 * this.#windowBytes) this.#windowBytes *= 2;
    while (free < 2 * this.#windowBytes && this.#windowBytes > windowBytesMin) {
      this.#windowBytes /= 2;
    }
    this.#windowBytes = Math.min(this.#windowBytes, windowBytesMax);
  }

  #tell(one: Session): void {
    const { session } = one;
    const windowBytes = this.#windowBytes;
    if (one.isAsked || one.windowBytes === windowBytes || session.closed || session.connecting)
      return;
    one.isAsked = true;
    session.settings({ initialWindowSize: windowBytes }, () => {
      one.windowBytes = windowBytes;
      one.isAsked = false;
    });
  }

  /** Ends the streams that hold the most. @returns the bytes that they held. */
  #end(held: ReadonlyMap<Http2Stream, number>, wanted: number): number {
    let ended = 0;
    for (const [stream, bytes] of [...held].sort(([, a], [, b]) => b - a)) {
      if (ended >= wanted || bytes <= 2 * windowBytesMin) break;
      ended += bytes;
      stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      stream.destroy();
    }
    return ended;
  }
}

export const windows: Windows = new Windows();

/** Pieces keep the whole buffer alive that Node has read them into. */
function unreadBytes(stream: Http2Stream, seen: Set<ArrayBufferLike>): number {
  const { buffer } = Reflect.get(stream, "_readableState") as { buffer: Iterable<Buffer | null> };
  let bytes = 0;
  for (const piece of buffer) {
    if (piece === null) continue; // Node has taken it
    bytes += pieceBytes;
    if (seen.has(piece.buffer)) continue;
    seen.add(piece.buffer);
    bytes += piece.buffer.byteLength;
  }
  return bytes;
}

/**
 * What arrives on a stream, in chunks as its reader asks for them. Ends when it closes, whole or not.
 * Node's own iterator would join all that is unread, and reports streams that a server closes as cut off.
 */
export async function* readChunks(stream: Readable): AsyncGenerator<Uint8Array> {
  let wake = () => {};
  const look = () => wake();
  for (const event of lookEvents) stream.on(event, look);
  try {
    while (!stream.readableEnded && !stream.destroyed) {
      const bytes = Math.min(stream.readableLength, chunkBytesMax);
      const chunk: Uint8Array | null = stream.read(bytes || undefined);
      if (chunk !== null) yield chunk;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    // With a listener, a stream does not flow, and its rest could not be discarded. An error may be late.
    for (const event of ["readable", "end", "close"]) stream.off(event, look);
  }
}

const lookEvents = ["readable", "end", "close", "error"];
