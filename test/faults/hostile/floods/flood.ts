import {
  frame,
  frameType,
  greeting,
  parseFrames,
  settingsAck,
} from "../../../../packages/gateway/test/support/raw-http2.ts";
import type { Random } from "../../random.ts";
import { type Connection, openConnection } from "../connection.ts";

/** A large amount of one thing at once. */
export interface Flood {
  readonly name: string;
  run(target: Target): Promise<FloodResult>;
}

export interface Target {
  readonly url: string;
  readonly port: number;
  readonly random: Random;
}

export interface FloodResult {
  /** The number of requests, frames or connections. */
  readonly count: number;
  readonly found: readonly string[];
}

/** How long the server may take to react after the last byte, on a busy machine. */
export const patienceMs = 20_000;

/** The size of each write. */
const pieceBytes = 64 * 1024;

/**
 * Sends frames on one HTTP/2 connection, as fast as the server accepts them.
 *
 * @param isDeaf Whether it reads nothing from the server.
 * @returns Whether the server closed the connection.
 */
export async function pour(
  port: number,
  frames: Iterable<Buffer>,
  { isDeaf = false }: { isDeaf?: boolean } = {},
): Promise<{ isEnded: boolean }> {
  const connection = openConnection(port, isDeaf);
  const { socket } = connection;
  socket.write(Buffer.concat([greeting, settingsAck]));
  for (const piece of pieces(frames)) {
    if (connection.isEnded || socket.destroyed) break;
    if (!socket.write(piece) && !(await drained(connection, isDeaf))) break;
  }
  const mark = Buffer.from("the last");
  socket.write(frame(frameType.ping, { payload: mark }));
  // The mark is returned when everything before it has been read.
  if (!isDeaf) await connection.until((received) => isOver(received, mark), patienceMs);
  const isEnded = connection.isEnded || hasGoneAway(connection.received);
  socket.destroy();
  return { isEnded };
}

/**
 * @returns whether the server continues to read. A server that answers may stop if nobody reads.
 */
async function drained({ socket, ended }: Connection, isDeaf: boolean): Promise<boolean> {
  const drain = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => drain.resolve(false), isDeaf ? 1000 : patienceMs);
  socket.once("drain", () => drain.resolve(true));
  const outcome = await Promise.race([drain.promise, ended.then(() => false)]);
  clearTimeout(timer);
  return outcome;
}

function* pieces(frames: Iterable<Buffer>): Generator<Buffer> {
  let some: Buffer[] = [];
  let bytes = 0;
  for (const one of frames) {
    some.push(one);
    bytes += one.length;
    if (bytes < pieceBytes) continue;
    yield Buffer.concat(some);
    some = [];
    bytes = 0;
  }
  if (some.length > 0) yield Buffer.concat(some);
}

function isOver(received: Buffer, mark: Buffer): boolean {
  return received.indexOf(mark) !== -1 || hasGoneAway(received);
}

function hasGoneAway(received: Buffer): boolean {
  return parseFrames(received).some(({ type }) => type === frameType.goaway);
}
