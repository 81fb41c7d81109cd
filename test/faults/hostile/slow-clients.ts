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
import { blockOf, data, greet, headers, headOf, setting } from "./frames.ts";

interface SlowClient {
  readonly what: string;
  /** Sent at once. Default: nothing. */
  readonly first?: string | Buffer;
  /** Sent byte by byte, repeatedly, without an end. */
  readonly again?: string | Buffer;
  /** Whether it reads nothing from the server. */
  readonly isDeaf?: boolean;
}

const intervalMs = 400;

/** For the server's check interval. */
const slackMs = 10_000;

const copies = 4;

function http1(more: string): string {
  const token = `Authorization: Bearer ${knownToken}\r\nContent-Type: application/json\r\n`;
  return `POST /plants HTTP/1.1\r\nHost: a\r\n${token}${more}`;
}

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
  { what: "says nothing" },
  { what: "says half a preface", first: greeting.subarray(0, 12) },
  { what: "says a preface by the byte", again: greeting.subarray(0, 23) },
  { what: "says P", first: "P" },
  { what: "says a preface, and no settings", first: greeting.subarray(0, 24) },
  { what: "sends half a head", first: http1("X: ") },
  { what: "sends a head by the byte", first: http1("X: "), again: "x" },
  { what: "sends headers by the line", first: http1(""), again: "X: x\r\n" },
  { what: "sends line breaks before a request", again: "\r\n" },
  { what: "sends half a body", first: http1('Content-Length: 100\r\n\r\n{"id":') },
  { what: "sends a body by the byte", first: http1("Content-Length: 1000\r\n\r\n"), again: " " },
  { what: "sends chunks by the byte", first: http1(chunked), again: "1\r\n \r\n" },
  {
    what: "sends trailers by the line",
    first: http1(`${chunked}1\r\n{\r\n0\r\n`),
    again: "X: x\r\n",
  },
  {
    what: "sends the body of a refused request by the byte",
    first: "POST /plants HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
    again: " ",
  },
  { what: "opens a stream, and sends no data", first: greet(open) },
  {
    what: "opens a stream of gRPC, and sends half an envelope",
    first: greet(grpc, data(1, "\0\0\0")),
  },
  { what: "sends a stream without an end", first: greet(open), again: data(1, " ") },
  {
    what: "sends a frame by the byte",
    first: greet(open, headOf(data(1, longFrame))),
    again: " ",
  },
];

/** Over TLS, within the same time. */
const unfinishedTls: readonly SlowClient[] = [
  { what: "says nothing" },
  { what: "says half a handshake", first: clientHello },
  { what: "says a handshake by the byte", first: clientHello.subarray(0, 11), again: "\x07" },
];

/** Within the time for a connection without requests. */
const idle: readonly SlowClient[] = [
  // Until its frame is complete, node:http2 does not know that there is a request.
  {
    what: "sends a block of fields by the byte",
    first: greet(headOf(headers(1, longFrame))),
    again: "\0",
  },
  { what: "greets, and no more", first: greet() },
  { what: "has a window of 0", first: closedWindow },
  { what: "takes no answers", first: closedWindow, isDeaf: true },
];

/**
 * Twice the time: with answers pending, node:http2 counts what it could send before the first
 * timeout as progress, and reports only the second timeout.
 */
export const idleLimitMs: number = 2 * defaultLimits.idleTimeoutMs + slackMs;

/** @param tlsPort Undefined if no certificate can be created. */
export async function beSlow(port: number, tlsPort: number | undefined): Promise<FloodResult> {
  const limitMs = defaultLimits.requestTimeoutMs + slackMs;
  return await beAll([
    ...unfinished.map((client) => () => beOne(client, port, limitMs, hasEnded)),
    ...(tlsPort === undefined ? [] : unfinishedTls).map(
      (client) => () => beOne({ ...client, what: `${client.what} (TLS)` }, tlsPort ?? 0, limitMs),
    ),
  ]);
}

/** Takes `idleLimitMs`. */
export async function beIdle(port: number): Promise<FloodResult> {
  return await beAll(idle.map((client) => () => beOne(client, port, idleLimitMs)));
}

/** Some copies of each, until all were ended. @returns which are still there after the limit. */
async function beAll(clients: readonly (() => Promise<string[]>)[]): Promise<FloodResult> {
  const all = clients.flatMap((be) => Array.from({ length: copies }, be));
  const found = (await Promise.all(all)).flat();
  return { count: all.length, found: [...new Set(found)] };
}

/** @param isOver Whether the server has ended it, although the connection is open. */
async function beOne(
  { what, first = "", again = "", isDeaf = false }: SlowClient,
  port: number,
  limitMs: number,
  isOver: (received: Buffer) => boolean = () => false,
): Promise<string[]> {
  const connection = openConnection(port, isDeaf);
  const { socket } = connection;
  socket.write(first);
  const repeated = Buffer.from(again as string, "latin1");
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
function hasEnded(received: Buffer): boolean {
  if (received.includes("HTTP/1.1 ")) return false; // the connection must end as well
  return parseFrames(received).some(
    ({ type }) => type === frameType.rstStream || type === frameType.goaway,
  );
}
