/** Clients that send next to nothing forever, in every stage of a request. */

import { defaultLimits } from "connect-gateway/limits";
import {
  flag,
  frame,
  frameType,
  greeting,
  parseFrames,
  settingsAck,
} from "../../../packages/gateway/test/support/raw-http2.ts";
import { createPlantPath } from "../../support/protocol/message.ts";
import { knownToken } from "../../support/test-server.ts";
import { starvedMs } from "../history/starvation.ts";
import { openConnection } from "./connection.ts";
import type { FloodResult } from "./floods/flood.ts";
import { blockOf, data, greet, headers, headOf, http1, setting } from "./wire.ts";

type SlowClient = readonly [
  what: string,
  /** Sent at once. */
  first?: string | Buffer,
  /** Sent byte by byte, repeatedly, without an end; `deaf` reads nothing from the server. */
  again?: string | Buffer | "deaf",
];

const intervalMs = 400;
/** For the server's check interval. */
const slackMs = 10_000;
const copies = 4;

const post = (rest: string) =>
  http1("POST /plants", knownToken, `Content-Type: application/json\r\n${rest}`);
const open = headers(1, blockOf());
const grpc = headers(1, blockOf({ ":path": createPlantPath, "content-type": "application/grpc" }));
const longFrame = Buffer.alloc(16_000);
const chunked = "Transfer-Encoding: chunked\r\n\r\n";

/** A long TLS 1.2 ClientHello that breaks off. */
const clientHello = Buffer.concat([
  Buffer.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03),
  Buffer.alloc(40, 7),
]);

/** No window for the server's data; then requests that each need an answer. */
const closedWindow = Buffer.concat([
  greeting,
  frame(frameType.settings, { payload: setting(4, 0) }),
  settingsAck,
  ...Array.from({ length: 50 }, (_, index) => [
    headers(2 * index + 1, blockOf()),
    data(2 * index + 1, "{", flag.endStream),
  ]).flat(),
]);

/** A server must end these within the time for a request. */
const unfinished: readonly SlowClient[] = [
  ["says nothing"],
  ["says half a preface", greeting.subarray(0, 12)],
  ["says a preface by the byte", "", greeting.subarray(0, 23)],
  ["says P", "P"],
  ["says a preface, and no settings", greeting.subarray(0, 24)],
  ["sends half a head", post("X: ")],
  ["sends a head by the byte", post("X: "), "x"],
  ["sends headers by the line", post(""), "X: x\r\n"],
  ["sends line breaks before a request", "", "\r\n"],
  ["sends half a body", post('Content-Length: 100\r\n\r\n{"id":')],
  ["sends a body by the byte", post("Content-Length: 1000\r\n\r\n"), " "],
  ["sends chunks by the byte", post(chunked), "1\r\n \r\n"],
  ["sends trailers by the line", post(`${chunked}1\r\n{\r\n0\r\n`), "X: x\r\n"],
  [
    "sends the body of a refused request by the byte",
    "POST /plants HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
    " ",
  ],
  ["opens a stream, and sends no data", greet(open)],
  ["opens a stream of gRPC, and sends half an envelope", greet(grpc, data(1, "\0\0\0"))],
  ["sends a stream without an end", greet(open), data(1, " ")],
  ["sends a frame by the byte", greet(open, headOf(data(1, longFrame))), " "],
];

/** Over TLS, within the same time. */
const unfinishedTls: readonly SlowClient[] = [
  ["says nothing (TLS)"],
  ["says half a handshake (TLS)", clientHello],
  ["says a handshake by the byte (TLS)", clientHello.subarray(0, 11), "\x07"],
];

/** Within the time for a connection without requests. */
const idle: readonly SlowClient[] = [
  // Until its frame is complete, node:http2 does not know that there is a request.
  ["sends a block of fields by the byte", greet(headOf(headers(1, longFrame))), "\0"],
  ["greets, and no more", greet()],
  ["has a window of 0", closedWindow],
  ["takes no answers", closedWindow, "deaf"],
];

/**
 * Twice the time: with answers pending, node:http2 counts what it could send before the first
 * timeout as progress, and reports only the second timeout.
 */
export const idleLimitMs: number = 2 * defaultLimits.idleTimeoutMs + slackMs;

/** @param tlsPort Undefined if no certificate can be created. */
export async function beSlow(port: number, tlsPort: number | undefined): Promise<FloodResult> {
  const limitMs = defaultLimits.requestTimeoutMs + slackMs;
  return await resultOf([
    ...startCopies(unfinished, port, limitMs, isRefused),
    ...(tlsPort === undefined ? [] : startCopies(unfinishedTls, tlsPort, limitMs)),
  ]);
}

/** Takes `idleLimitMs`. */
export function beIdle(port: number): Promise<FloodResult> {
  return resultOf(startCopies(idle, port, idleLimitMs));
}

function startCopies(clients: readonly SlowClient[], ...how: Situation): Promise<string[]>[] {
  return Array.from({ length: copies }, () => clients.map((one) => beOne(one, ...how))).flat();
}

async function resultOf(clients: readonly Promise<string[]>[]): Promise<FloodResult> {
  return { count: clients.length, found: [...new Set((await Promise.all(clients)).flat())] };
}

type Situation = readonly [
  port: number,
  limitMs: number,
  /** Whether the server has ended it, although the connection is open. */
  isOver?: (received: Buffer) => boolean,
];

async function beOne(
  [what, first = "", again = ""]: SlowClient,
  ...[port, limitMs, isOver = () => false]: Situation
): Promise<string[]> {
  const isDeaf = again === "deaf";
  const connection = openConnection(port, isDeaf);
  const { socket } = connection;
  socket.write(first);
  const repeated = Buffer.from(isDeaf ? "" : (again as string), "latin1");
  let sent = 0;
  const timer = setInterval(() => {
    if (repeated.length === 0 || !socket.writable) return;
    const at = sent++ % repeated.length;
    socket.write(repeated.subarray(at, at + 1));
  }, intervalMs);
  // Clients that do not read notice the end only if they write.
  const probe = isDeaf ? setInterval(() => socket.write(settingsAck), 5 * intervalMs) : undefined;
  const begin = performance.now();
  if (!(await connection.until(isOver, limitMs)) && !connection.isEnded) {
    // The server may have had no CPU to end it with.
    await connection.until(isOver, starvedMs(begin, performance.now()));
  }
  clearInterval(timer);
  clearInterval(probe);
  const hasEnded = connection.isEnded || isOver(connection.received);
  socket.destroy();
  const seconds = Math.round((performance.now() - begin) / 1000);
  return hasEnded ? [] : [`a client that ${what}: is still there after ${seconds} s`];
}

/** A stream that was reset, or a response that ends the connection. */
function isRefused(received: Buffer): boolean {
  if (received.includes("HTTP/1.1 ")) return false; // the connection must end as well
  return parseFrames(received).some(
    ({ type }) => type === frameType.rstStream || type === frameType.goaway,
  );
}
