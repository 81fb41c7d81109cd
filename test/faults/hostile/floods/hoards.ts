/** Bodies that take memory while they are under way: packed ones, and those that never end. */
import http2 from "node:http2";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { type RawRequest, rawProtocols } from "../../../support/protocol/raw.ts";
import { knownToken } from "../../../support/test-server.ts";
import { smallHeap, startProxy, watchMemory } from "../../server.ts";
import type { Flood } from "./flood.ts";

const MiB = 1024 * 1024;
/** Of a caller that is no other: those with its token share what it may hold. */
const hoarderToken = "a-token-of-who-hoards";

const collecting = new URL("../../collect-child.js", import.meta.url);
/** Accepts the hoarder, too. */
export const smallServer = {
  NODE_OPTIONS: `${smallHeap.NODE_OPTIONS} --import ${collecting}`,
  PLANT_STORE_TOKENS: `${knownToken},${hoarderToken}`,
};

interface Hoard extends RawRequest {
  /** Whether its body comes to an end. */
  readonly isWhole: boolean;
}

const held = Buffer.alloc(1000 * 1024, " ");
const largePlant = { id: 1n, name: "a".repeat(2 * MiB) };
const options = { authorization: `Bearer ${hoarderToken}` };
/** REST's JSON is as good as Connect's. */
const protocols = rawProtocols.filter(
  ({ version, name }) => version === "2" && !name.startsWith("Connect JSON"),
);

/** A small one costs the sender nothing, so that many are unpacked at a time. */
const hoards: readonly Hoard[] = [
  ...[2, 200].flatMap((size) => {
    const packed = gzipSync(Buffer.alloc(size * MiB));
    return protocols.map(({ request }) => ({
      ...request(packed, { ...options, coding: "gzip" }),
      isWhole: true,
    }));
  }),
  ...protocols.map(({ encode, request }) => ({
    ...request(gzipSync(encode(largePlant)), { ...options, coding: "gzip" }),
    isWhole: true,
  })),
  ...protocols
    .filter(({ name }) => /^(REST|gRPC) /.test(name))
    .map(({ request }) => {
      const whole = request(held, options);
      return { ...whole, body: whole.body.subarray(0, held.length), isWhole: false };
    }),
];

/** Of each connection. */
const streams = 250;
/** As a refused client is told. */
const retryMs = 1000;

const connectionCounts = [4, 100];
const hoardMs = 4000;

/** One kind in each round of a run, to the server or through a proxy before it. */
export const hoarding: Flood = {
  name: "bodies that take memory",
  async run({ url, random }) {
    await using proxy = await startProxy(url, { cwd: tmpdir(), env: smallServer });
    using watch = watchMemory(proxy);
    const target = { url: random.pick([url, proxy.url]), ms: hoardMs };
    const connections = random.pick(connectionCounts);
    const count = await hoard(random.pick(hoards), { ...target, connections });
    return { count, found: watch.problems };
  },
};

/** @returns how many requests were sent. */
async function hoard(
  { path, headers, body, isWhole }: Hoard,
  { url, connections, ms }: { url: string; connections: number; ms: number },
): Promise<number> {
  let sent = 0;
  const send = (session: http2.ClientHttp2Session) => {
    if (session.destroyed || session.closed) return;
    sent++;
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
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
