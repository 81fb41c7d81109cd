import {
  frame,
  framesIn,
  frameType,
  http2Bytes,
} from "../../../../packages/gateway/test/support/frames.ts";
import type { Random } from "../../random.ts";
import { openConnection } from "../connection.ts";

/** A large amount of one thing at once. */
export interface Flood {
  readonly name: string;
  run(target: Target): Promise<FloodResult>;
}

interface Target {
  readonly url: string;
  readonly port: number;
  readonly random: Random;
  readonly signal: AbortSignal;
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
export async function pour(port: number, frames: Buffer, isDeaf: boolean) {
  const connection = openConnection(port, isDeaf);
  const { socket } = connection;
  socket.write(http2Bytes());
  // A server that answers may stop reading if nobody reads.
  const drainMs = isDeaf ? 1000 : patienceMs;
  for (let at = 0; at < frames.length; at += pieceBytes) {
    if (connection.isEnded || socket.destroyed) break;
    if (socket.write(frames.subarray(at, at + pieceBytes))) continue;
    await connection.until(() => !socket.writableNeedDrain, drainMs);
    if (socket.writableNeedDrain) break;
  }
  const mark = Buffer.from("the last");
  socket.write(frame(frameType.ping, { payload: mark }));
  // The mark is returned when everything before it has been read.
  const isOver = (received: Buffer) => received.includes(mark) || hasGoneAway(received);
  if (!isDeaf) await connection.until(isOver, patienceMs);
  const isEnded = connection.isEnded || hasGoneAway(connection.received);
  socket.destroy();
  return isEnded;
}

function hasGoneAway(received: Buffer): boolean {
  return framesIn(received).some(({ type }) => type === frameType.goaway);
}
