/** Clients that send next to nothing forever, in every stage of a request. */

import { defaultLimits } from "connect-gateway/limits";
import {
  fieldBlock,
  flag,
  frame,
  frameType,
  greeting,
  parseFrames,
  settingsAck,
} from "../../../packages/gateway/test/support/raw-http2.ts";
import { fields } from "../../support/malformed/http2.ts";
import { knownToken } from "../../support/test-server.ts";
import { starvedMs } from "../history/starvation.ts";
import { openConnection } from "./connection.ts";

interface SlowClient {
  readonly what: string;
  /** Sent at once. */
  readonly first: Buffer;
  /** Sent byte by byte, repeatedly, without an end. */
  readonly again?: Buffer;
  readonly over: "clear" | "TLS";
  /** What the server must have done within the limit. */
  readonly limit: "request" | "idle";
  /** Whether it reads nothing from the server. */
  readonly isDeaf?: boolean;
}

const intervalMs = 400;

/** For the server's check interval. */
const slackMs = 10_000;

const copies = 4;

const none = Buffer.alloc(0);
const greeted = Buffer.concat([greeting, settingsAck]);

function http1(more: string, line = "POST /plants HTTP/1.1"): Buffer {
  const token = `Authorization: Bearer ${knownToken}\r\nContent-Type: application/json\r\n`;
  return Buffer.from(`${line}\r\nHost: a\r\n${token}${more}`);
}

function headers(given: Parameters<typeof fields>[0] = {}, streamId = 1): Buffer {
  const payload = fieldBlock(fields(given));
  return frame(frameType.headers, { flags: flag.endHeaders, streamId, payload });
}

const grpc = {
  ":path": "/plantstore.v1.PlantService/CreatePlant",
  "content-type": "application/grpc",
};

/** A long TLS 1.2 ClientHello that breaks off. */
const clientHello = Buffer.concat([
  Buffer.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03),
  Buffer.alloc(40, 7),
]);

/** No window for the server's data; then requests that each need an answer. */
const closedWindow = Buffer.concat([
  greeting,
  frame(frameType.settings, { payload: Buffer.of(0, 4, 0, 0, 0, 0) }),
  settingsAck,
  ...Array.from({ length: 50 }, (_, index) =>
    Buffer.concat([
      headers({}, 2 * index + 1),
      frame(frameType.data, {
        flags: flag.endStream,
        streamId: 2 * index + 1,
        payload: Buffer.from("{"),
      }),
    ]),
  ),
]);

const clients: readonly SlowClient[] = [
  { what: "says nothing", first: none, over: "clear", limit: "request" },
  { what: "says half a preface", first: greeting.subarray(0, 12), over: "clear", limit: "request" },
  {
    what: "says a preface by the byte",
    first: none,
    again: greeting.subarray(0, 23),
    over: "clear",
    limit: "request",
  },
  { what: "says P", first: Buffer.from("P"), over: "clear", limit: "request" },
  {
    what: "says a preface, and no settings",
    first: greeting.subarray(0, 24),
    over: "clear",
    limit: "request",
  },
  { what: "sends half a head", first: http1("X: "), over: "clear", limit: "request" },
  {
    what: "sends a head by the byte",
    first: http1("X: "),
    again: Buffer.from("x"),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends headers by the line",
    first: http1(""),
    again: Buffer.from("X: x\r\n"),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends line breaks before a request",
    first: none,
    again: Buffer.from("\r\n"),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends half a body",
    first: http1('Content-Length: 100\r\n\r\n{"id":'),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends a body by the byte",
    first: http1("Content-Length: 1000\r\n\r\n"),
    again: Buffer.from(" "),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends chunks by the byte",
    first: http1("Transfer-Encoding: chunked\r\n\r\n"),
    again: Buffer.from("1\r\n \r\n"),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends trailers by the line",
    first: http1("Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"),
    again: Buffer.from("X: x\r\n"),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends the body of a refused request by the byte",
    first: Buffer.from("POST /plants HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"),
    again: Buffer.from(" "),
    over: "clear",
    limit: "request",
  },
  {
    what: "opens a stream, and sends no data",
    first: Buffer.concat([greeted, headers()]),
    over: "clear",
    limit: "request",
  },
  {
    what: "opens a stream of gRPC, and sends half an envelope",
    first: Buffer.concat([
      greeted,
      headers(grpc),
      frame(frameType.data, { streamId: 1, payload: Buffer.alloc(3) }),
    ]),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends a stream without an end",
    first: Buffer.concat([greeted, headers()]),
    again: frame(frameType.data, { streamId: 1, payload: Buffer.from(" ") }),
    over: "clear",
    limit: "request",
  },
  {
    what: "sends a block of fields by the byte",
    first: Buffer.concat([greeted, longHead()]),
    again: Buffer.of(0),
    over: "clear",
    // Until its frame is complete, node:http2 does not know that there is a request.
    limit: "idle",
  },
  {
    what: "sends a frame by the byte",
    first: Buffer.concat([greeted, headers(), longFrame()]),
    again: Buffer.of(0x20),
    over: "clear",
    limit: "request",
  },
  {
    what: "greets, and no more",
    first: greeted,
    over: "clear",
    limit: "idle",
  },
  { what: "has a window of 0", first: closedWindow, over: "clear", limit: "idle" },
  { what: "takes no answers", first: closedWindow, over: "clear", limit: "idle", isDeaf: true },
  { what: "says nothing", first: none, over: "TLS", limit: "request" },
  { what: "says half a handshake", first: clientHello, over: "TLS", limit: "request" },
  {
    what: "says a handshake by the byte",
    first: clientHello.subarray(0, 11),
    again: Buffer.of(7),
    over: "TLS",
    limit: "request",
  },
];

/** The first bytes of a frame of 16,000 bytes. */
function longHead(): Buffer {
  const payload = Buffer.alloc(16_000);
  return frame(frameType.headers, { flags: flag.endHeaders, streamId: 1, payload }).subarray(0, 9);
}

function longFrame(): Buffer {
  return frame(frameType.data, { streamId: 1, payload: Buffer.alloc(16_000) }).subarray(0, 9);
}

export interface SlowPorts {
  readonly clear: number;
  /** Undefined if no certificate can be created. */
  readonly tls: number | undefined;
}

/**
 * Opens all clients with this limit, and waits until each was ended.
 *
 * @returns how many there were, and which are still there after the limit.
 */
export async function beSlow(
  limit: SlowClient["limit"],
  ports: SlowPorts,
): Promise<{ count: number; found: readonly string[] }> {
  const chosen = clients.filter((client) => client.limit === limit);
  const outcomes = await Promise.all(
    chosen.flatMap((client) => {
      const port = client.over === "TLS" ? ports.tls : ports.clear;
      return port === undefined ? [] : Array.from({ length: copies }, () => beOne(client, port));
    }),
  );
  return { count: outcomes.length, found: [...new Set(outcomes.flat())] };
}

/**
 * Twice the time: with answers pending, node:http2 counts what it could send before the first
 * timeout as progress, and reports only the second timeout.
 */
export const idleLimitMs: number = 2 * defaultLimits.idleTimeoutMs + slackMs;

async function beOne(client: SlowClient, port: number): Promise<string[]> {
  const { what, first, again, over, limit, isDeaf = false } = client;
  const limitMs = limit === "idle" ? idleLimitMs : defaultLimits.requestTimeoutMs + slackMs;
  const connection = openConnection(port, isDeaf);
  const { socket } = connection;
  socket.write(first);
  let sent = 0;
  const timer = setInterval(() => {
    if (again === undefined || !socket.writable) return;
    socket.write(again.subarray(sent % again.length, (sent % again.length) + 1));
    sent++;
  }, intervalMs);
  const begin = performance.now();
  const isEnded = limit === "idle" ? () => false : hasEnded;
  // Clients that do not read notice the end only if they write.
  const probe = isDeaf ? setInterval(() => socket.write(settingsAck), 5 * intervalMs) : undefined;
  if (!(await connection.until(isEnded, limitMs)) && !connection.isEnded) {
    // The server may have had no CPU to end it with.
    await connection.until(isEnded, starvedMs(begin, performance.now()));
  }
  clearInterval(timer);
  clearInterval(probe);
  const isOver = connection.isEnded || isEnded(connection.received);
  socket.destroy();
  const seconds = Math.round((performance.now() - begin) / 1000);
  return isOver ? [] : [`a client that ${what} (${over}): is still there after ${seconds} s`];
}

/** A stream that was reset, or a response that ends the connection. */
function hasEnded(received: Buffer): boolean {
  if (received.includes("HTTP/1.1 ")) return false; // the connection must end as well
  return parseFrames(received).some(
    ({ type }) => type === frameType.rstStream || type === frameType.goaway,
  );
}
