import {
  frame,
  frameType,
  greeting,
  parseFrames,
  settingsAck,
} from "../../../../packages/gateway/test/support/raw-http2.ts";
import type { Random } from "../../random.ts";
import { type Connection, openConnection } from "../connection.ts";

/** Too much of one thing, at once. */
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
  /** Requests, frames or connections: what there was too much of. */
  readonly count: number;
  readonly found: readonly string[];
}

/** From the last byte to the end that the server has to make of it, on a busy machine. */
export const patienceMs = 20_000;

/** How much is written at once. */
const pieceBytes = 64 * 1024;

/**
 * Pours frames into one connection of HTTP/2, as fast as the server takes them.
 *
 * @param isDeaf Whether it takes nothing of what the server sends.
 * @returns Whether the server ended the connection.
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
  // The mark comes back when all that was before it has been read.
  if (!isDeaf) await connection.until((received) => isOver(received, mark), patienceMs);
  const isEnded = connection.isEnded || hasGoneAway(connection.received);
  socket.destroy();
  return { isEnded };
}

/** @returns whether the server goes on to take what is sent; one that answers may stop for the deaf. */
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
