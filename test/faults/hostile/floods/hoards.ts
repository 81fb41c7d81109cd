/** Bodies that take memory while they are under way: packed ones, and those that never end. */
import http2 from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { createPlantPath } from "../../../support/protocol/message.ts";
import { knownToken } from "../../../support/test-server.ts";
import type { Flood } from "./flood.ts";

const MiB = 1024 * 1024;

/** Of a caller that is no other: those with its token share what it may hold. */
const hoarderToken = "a-token-of-who-hoards";

/** A heap with which a server has to stay below `residentMiBMax`, as in a container of a usual size. */
export const smallServer = {
  NODE_OPTIONS: "--max-old-space-size=256",
  PLANT_STORE_TOKENS: `${knownToken},${hoarderToken}`,
};
export const residentMiBMax = 512;

export interface Hoard {
  readonly what: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the body ends. */
  readonly isWhole: boolean;
}

/** A small one costs the sender nothing, so that many are unpacked at a time. */
const packed = [2, 200].map((size) => [`${size} MiB`, gzipSync(Buffer.alloc(size * MiB))] as const);
const held = Buffer.alloc(1000 * 1024, " ");
const rest = { ":path": "/plants", "content-type": "application/json" };
const connect = { ":path": createPlantPath, "content-type": "application/proto" };
const grpcWeb = { ":path": createPlantPath, "content-type": "application/grpc-web+proto" };
const grpc = { ":path": createPlantPath, "content-type": "application/grpc", te: "trailers" };

export const hoards: readonly Hoard[] = [
  ...packed.flatMap(([size, body]) => [
    whole(`gzip of ${size}, REST`, { ...rest, "content-encoding": "gzip" }, body),
    whole(`gzip of ${size}, Connect`, { ...connect, "content-encoding": "gzip" }, body),
    whole(`gzip of ${size}, gRPC`, { ...grpc, "grpc-encoding": "gzip" }, envelope(body, 1)),
    whole(`gzip of ${size}, gRPC-Web`, { ...grpcWeb, "grpc-encoding": "gzip" }, envelope(body, 1)),
  ]),
  { what: "all but the last byte, REST", headers: rest, body: held, isWhole: false },
  {
    what: "all but the last byte, gRPC",
    headers: grpc,
    body: envelope(held).subarray(0, held.length),
    isWhole: false,
  },
];

function whole(what: string, headers: Hoard["headers"], body: Buffer): Hoard {
  return { what, headers, body, isWhole: true };
}

export interface Hoarding {
  readonly url: string;
  readonly connections: number;
  readonly streams: number;
  readonly ms: number;
}

/** As a refused client is told. */
const retryMs = 1000;

/** @returns how many requests were sent. */
export async function hoard({ headers, body, isWhole }: Hoard, hoarding: Hoarding) {
  const { url, connections, streams, ms } = hoarding;
  let sent = 0;
  const send = (session: http2.ClientHttp2Session) => {
    if (session.destroyed || session.closed) return;
    sent++;
    const stream = session.request({
      ...{ ":method": "POST", authorization: `Bearer ${hoarderToken}` },
      ...headers,
    });
    stream.on("error", () => {});
    stream.once("close", () => setTimeout(() => send(session), retryMs).unref());
    stream.resume();
    if (isWhole) stream.end(body);
    else stream.write(body);
  };
  const sessions = Array.from({ length: connections }, () => {
    const session = http2.connect(url);
    session.on("error", () => {});
    session.once("connect", () => {
      for (let opened = 0; opened < streams; opened++) send(session);
    });
    return session;
  });
  await delay(ms);
  for (const session of sessions) session.destroy();
  return sent;
}

const floodMs = 1000;

export const hoarders: Flood = {
  name: "bodies that take memory",
  async run({ url }) {
    let count = 0;
    for (const one of hoards) {
      const crowd = { connections: one.isWhole ? 8 : 4, streams: 250, ms: floodMs };
      count += await hoard(one, { url, ...crowd });
    }
    return { count, found: [] };
  },
};
