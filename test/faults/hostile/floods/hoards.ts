/** Bodies that take memory while they are under way: packed ones, and those that never end. */
import http2 from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { envelope } from "../../../../packages/gateway/test/support/envelope.ts";
import { createPlantPath } from "../../../support/protocol/message.ts";
import { knownToken } from "../../../support/test-server.ts";
import { smallHeap } from "../../server.ts";
import type { Flood } from "./flood.ts";

const MiB = 1024 * 1024;
/** Of a caller that is no other: those with its token share what it may hold. */
const hoarderToken = "a-token-of-who-hoards";

/** Accepts the hoarder, too. */
export const smallServer = { ...smallHeap, PLANT_STORE_TOKENS: `${knownToken},${hoarderToken}` };

type Hoard = (typeof hoards)[number];

const held = Buffer.alloc(1000 * 1024, " ");
const rest = { ":path": "/plants", "content-type": "application/json" };
const connect = { ":path": createPlantPath, "content-type": "application/proto" };
const grpcWeb = { ":path": createPlantPath, "content-type": "application/grpc-web+proto" };
const grpc = { ":path": createPlantPath, "content-type": "application/grpc", te: "trailers" };

/** A small one costs the sender nothing, so that many are unpacked at a time. */
export const hoards = [
  ...[2, 200].flatMap((size) => {
    const body = gzipSync(Buffer.alloc(size * MiB));
    const enveloped = envelope(body, 1);
    const gzip = { "content-encoding": "gzip" };
    const grpcGzip = { "grpc-encoding": "gzip" };
    return [
      { what: "REST", headers: { ...rest, ...gzip }, body },
      { what: "Connect", headers: { ...connect, ...gzip }, body },
      { what: "gRPC", headers: { ...grpc, ...grpcGzip }, body: enveloped },
      { what: "gRPC-Web", headers: { ...grpcWeb, ...grpcGzip }, body: enveloped },
    ].map((one) => ({ ...one, what: `gzip of ${size} MiB, ${one.what}`, isWhole: true }));
  }),
  // These do not end.
  { what: "all but the last byte, REST", headers: rest, body: held, isWhole: false },
  {
    what: "all but the last byte, gRPC",
    headers: grpc,
    body: envelope(held).subarray(0, held.length),
    isWhole: false,
  },
];

/** Of each connection. */
const streams = 250;
/** As a refused client is told. */
const retryMs = 1000;

/** @returns how many requests were sent. */
export async function hoard(
  { headers, body, isWhole }: Hoard,
  { url, connections, ms }: { url: string; connections: number; ms: number },
): Promise<number> {
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

export const hoarders: Flood = {
  name: "bodies that take memory",
  async run({ url }) {
    let count = 0;
    for (const one of hoards) {
      const connections = one.isWhole ? 8 : 4;
      count += await hoard(one, { url, connections, ms: 1000 });
    }
    return { count, found: [] };
  },
};
