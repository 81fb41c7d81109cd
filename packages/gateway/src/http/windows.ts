/** Flow control of HTTP/2: how much a peer may send before somebody reads it. */
import { constants, type Http2Session, type Http2Stream } from "node:http2";
import type { Readable } from "node:stream";
import type { ConnectError } from "@connectrpc/connect";
import { longMs, nextTurn } from "./body.ts";
import { keepStreamsInTables, type StreamTable } from "./session.ts";

const MiB = 1024 * 1024;

const windowBytesMin = 64 * 1024;

/**
 * A connection's window, in first windows of a stream. Node counts bytes as read when they arrive, so
 * it bounds what is sent before a client hears anything: with 64 MiB, four took 180 MiB more.
 */
const connectionWindows = 8;

/** How many times as many may come from clients before they have heard that windows shrink. */
const excessMax = 4;

/** A sender on the same machine can add about 20 MiB in this time. */
const lookIntervalMs = 20;

/** The objects around a piece of unread data, however small. */
const pieceBytes = 256;

/** So many pieces at the most wait to be sent, or unread before they are joined. */
export const piecesMax = 256;

/** Smaller pieces are joined, because each chunk costs a turn of its reader. */
const joinedBytesMax = 4 * 1024;

/** A frame of most senders, and what is joined with it. What a reader holds counts in the budget. */
const chunkBytesMax = 16 * 1024 + joinedBytesMax;

interface Session {
  readonly session: Http2Session;
  /** The window of its streams, once the peer has acknowledged it. */
  windowBytes: number;
  isAsked: boolean;
}

interface WindowLimits {
  /** Of a new connection's streams. */
  readonly firstWindowBytes: number;
  readonly windowBytesMax: number;
  /** Of all streams in the process. */
  readonly unreadBytesMax: number;
}

/**
 * The windows of all connections of a process, in one role.
 *
 * A stream begins with as much as short distances need. While few are open in the process, each may have
 * more. Where they are not read, windows shrink: each can take at most half of the room that is left,
 * and all together about twice that room. A client may ignore that, or be slow to hear it: when four
 * times as much is unread of clients, streams end with ENHANCE_YOUR_CALM, the largest first of the
 * connection that holds the most. Servers that we call are trusted to stop: their streams are unread
 * because callers of ours are slow.
 */
export function createWindows({ firstWindowBytes, windowBytesMax, unreadBytesMax }: WindowLimits) {
  const sessions = new Map<Session, StreamTable<Http2Stream>>();
  let windowBytes = firstWindowBytes;
  /** Falls slowly, or short calls would change windows at each look. */
  let recentStreams = 0;
  let isWatching = false;
  adapt(0, 0, Number.POSITIVE_INFINITY);
  return { firstWindowBytes, add, watch };

  /** Call for a new session whose first settings have `firstWindowBytes`. @returns its open streams. */
  function add(session: Http2Session): Iterable<Http2Stream> {
    const streams = keepStreamsInTables(session);
    const one = { session, windowBytes: firstWindowBytes, isAsked: false };
    const open = () => {
      if (session.destroyed) return; // it connects even then
      session.setLocalWindowSize(connectionWindows * firstWindowBytes);
      if (streams === undefined) session.settings({ initialWindowSize: windowBytesMin });
      else if (windowBytes < firstWindowBytes) tell(one);
    };
    if (session.connecting) session.once("connect", open);
    else open();
    if (streams === undefined) return [];
    sessions.set(one, streams);
    session.once("close", () => sessions.delete(one));
    return streams;
  }

  function watch(): void {
    if (!isWatching) setTimeout(look, lookIntervalMs).unref();
    isWatching = true;
  }

  function look(): void {
    const begun = performance.now();
    const held = new Map<Http2Stream, number>();
    const seen = new Set<ArrayBufferLike>();
    let unread = 0;
    let unreadStreams = 0;
    let ofClients = 0;
    let openStreams = 0;
    for (const [{ session }, streams] of sessions) {
      for (const stream of streams) {
        if (!stateOf(stream).ended) openStreams++;
        if (stream.readableLength === 0) continue;
        const bytes = unreadBytes(stream, seen);
        unread += bytes;
        unreadStreams++;
        if (session.type !== constants.NGHTTP2_SESSION_SERVER) continue;
        held.set(stream, bytes);
        ofClients += bytes;
      }
    }
    const tooMany = ofClients - excessMax * unreadBytesMax;
    if (tooMany > 0) unread -= end(held, tooMany + unreadBytesMax);
    recentStreams = Math.max(openStreams, 0.95 * recentStreams);
    adapt(unread, unreadStreams, recentStreams);
    for (const [one, streams] of sessions) {
      const hasMore = one.windowBytes > Math.max(firstWindowBytes, windowBytes);
      if (streams.size > 0 || hasMore) tell(one);
    }
    isWatching = openStreams > 0 || unread > 0 || windowBytes < firstWindowBytes;
    if (!isWatching) return;
    // At most a fiftieth of the time, unless it was long: much may come in a pause.
    const pauseMs = Math.min(50 * (performance.now() - begun), 5 * lookIntervalMs);
    setTimeout(look, Math.max(lookIntervalMs, pauseMs)).unref();
  }

  /** Halves windows at once, and doubles them step by step, with a margin. */
  function adapt(unread: number, unreadStreams: number, openStreams: number): void {
    const parts = Math.max(2, unreadStreams / 2);
    const room = (unreadBytesMax - unread) / parts;
    const few = (excessMax * unreadBytesMax) / openStreams;
    const mayGrow = windowBytes < firstWindowBytes || few >= 3 * windowBytes;
    // Larger ones will hold more.
    const next = room - unread / parts;
    if (mayGrow && room >= 3 * windowBytes && next >= 2 * windowBytes) windowBytes *= 2;
    const share = Math.min(room, Math.max(few, firstWindowBytes), windowBytesMax);
    while (share < windowBytes && windowBytes > windowBytesMin) windowBytes /= 2;
  }

  function tell(one: Session): void {
    const { session } = one;
    const told = windowBytes;
    if (one.isAsked || one.windowBytes === told) return;
    if (session.closed || session.destroyed || session.connecting) return;
    one.isAsked = true;
    session.settings({ initialWindowSize: told }, () => {
      one.windowBytes = told;
      one.isAsked = false;
    });
  }
}

/** Ends large streams, first those of the session that holds the most. @returns the bytes that they held. */
function end(held: ReadonlyMap<Http2Stream, number>, wanted: number): number {
  let ended = 0;
  const all = new Map<Http2Session | undefined, number>();
  for (const [{ session }, bytes] of held) all.set(session, (all.get(session) ?? 0) + bytes);
  const ofSession = ({ session }: Http2Stream) => all.get(session) ?? 0;
  const order = [...held].sort(([a, x], [b, y]) => ofSession(b) - ofSession(a) || y - x);
  for (const [stream, bytes] of order) {
    if (ended >= wanted) break;
    if (bytes <= 2 * windowBytesMin) continue;
    ended += bytes;
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    stream.destroy();
  }
  return ended;
}

/** Of clients. With windows of 16 MiB for all, a hundred connections took a server above 512 MiB. */
export const requestWindows = createWindows({
  firstWindowBytes: 2 * MiB,
  windowBytesMax: 8 * MiB,
  unreadBytesMax: 32 * MiB,
});

/** Of servers that we call. As much as grpc-go's windows can grow to: 160 MB/s at 100 ms. */
export const answerWindows = createWindows({
  firstWindowBytes: 16 * MiB,
  windowBytesMax: 16 * MiB,
  unreadBytesMax: 64 * MiB,
});

/** What Node keeps of a stream. `ended`: all has arrived. */
export interface ReadableState {
  readonly buffer: (Buffer | null)[];
  readonly bufferIndex: number;
  readonly ended: boolean;
}

function stateOf(stream: Readable): ReadableState {
  return Reflect.get(stream, "_readableState");
}

/** Whether all that the peer sends on a stream has arrived, but is not read. */
export function isUnread(stream: Http2Stream): boolean {
  return stateOf(stream).ended && !stream.readableEnded && !stream.destroyed;
}

/** Pieces keep the whole buffer alive that Node has read them into. */
function unreadBytes(stream: Http2Stream, seen: Set<ArrayBufferLike>): number {
  let bytes = 0;
  for (const piece of stateOf(stream).buffer) {
    if (piece === null) continue; // Node has taken it
    bytes += pieceBytes;
    if (seen.has(piece.buffer)) continue;
    seen.add(piece.buffer);
    bytes += piece.buffer.byteLength;
  }
  return bytes;
}

/** Lets a flowing stream wait for room. */
export async function pauseUntil(
  stream: Readable,
  room: Promise<void>,
  fail: (error: ConnectError) => void,
): Promise<void> {
  stream.pause();
  await room.catch(fail);
  stream.resume();
}

/**
 * What arrives on a stream, in chunks as its reader asks for them. Ends when it closes, whole or not.
 * Node's own iterator would join all that is unread, and reports streams that a server closes as cut off.
 */
export async function* readChunks(stream: Readable): AsyncGenerator<Uint8Array> {
  let wake = () => {};
  const look = () => wake();
  for (const event of ["readable", "end", "close", "error"]) stream.on(event, look);
  try {
    while (!stream.readableEnded && !stream.destroyed) {
      const bytes = Math.min(stream.readableLength, chunkBytes(stream));
      const chunk: Uint8Array | null = stream.read(bytes || undefined);
      const begun = performance.now();
      if (chunk === null) await new Promise<void>((resolve) => (wake = resolve));
      else {
        yield chunk;
        if (performance.now() - begun > longMs) await nextTurn();
      }
    }
  } finally {
    // With a listener, a stream does not flow, and its rest could not be discarded. An error may be late.
    for (const event of ["readable", "end", "close"]) stream.off(event, look);
  }
}

/** The bytes of whole pieces. A read that cuts a piece copies it, and so does each read after that. */
function chunkBytes(stream: Readable): number {
  const { buffer, bufferIndex } = stateOf(stream);
  let bytes = 0;
  for (let i = bufferIndex; i < buffer.length && bytes < joinedBytesMax; i++) {
    bytes += buffer[i]?.length ?? 0;
  }
  return Math.min(bytes || chunkBytesMax, chunkBytesMax);
}
