/** The place and the name by which a server is called, and how much of what it sends is read. */
import { EventEmitter, once } from "node:events";
import type { OnReadOpts, Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { GuardedSocket, openSocket, type SocketOptions } from "../../src/client/guarded-socket.ts";
import { frame, frameType } from "../support/frames.ts";

const { opened } = vi.hoisted(() => ({ opened: [] as unknown[] }));

vi.mock("node:net", async (original) => ({
  ...(await original<typeof import("node:net")>()),
  connect: (place: unknown) => opened.push(["TCP", place]) && asSocket(new EventEmitter()),
}));
vi.mock("node:tls", async (original) => ({
  ...(await original<typeof import("node:tls")>()),
  connect: (place: unknown) => opened.push(["TLS", place]) && asSocket(new EventEmitter()),
}));

function asSocket(emitter: EventEmitter) {
  const setNoDelay = () => opened.push("at once") && socket;
  const setKeepAlive = (...kept: unknown[]) => opened.push(kept) && socket;
  const socket = Object.assign(emitter, { setNoDelay, setKeepAlive }) as unknown as Socket;
  return socket;
}

const onread = { buffer: expect.any(Buffer), callback: expect.any(Function) };
const place = { host: "192.0.2.1", onread };
const h2 = { ALPNProtocols: ["h2"], allowPartialTrustChain: true };

test.each<[origin: string, options: Partial<SocketOptions>, opened: [string, unknown]]>([
  ["http://shop.example", {}, ["TCP", { ...place, port: 80 }]],
  ["http://shop.example:8080", {}, ["TCP", { ...place, port: 8080 }]],
  ["https://shop.example", {}, ["TLS", { ...place, ...h2, port: 443, servername: "shop.example" }]],
  ["https://192.0.2.1:8443", {}, ["TLS", { ...place, ...h2, port: 8443, servername: undefined }]],
  ["https://[::1]:8443", {}, ["TLS", { ...place, ...h2, port: 8443, servername: undefined }]],
  [
    "https://192.0.2.1",
    { tls: { serverName: "shop.example.", ca: "a", cert: "b", key: "c" } },
    [
      "TLS",
      { ...place, ...h2, port: 443, servername: "shop.example", ca: "a", cert: "b", key: "c" },
    ],
  ],
  ["http://localhost", { socketPath: "/tmp/a.sock" }, ["TCP", { path: "/tmp/a.sock", onread }]],
])("%s, %j", (origin, options, expected) => {
  opened.length = 0;
  openSocket({ origin, address: "192.0.2.1", tls: {}, ...options });
  expect(opened).toEqual([expected, "at once", [true, 60_000]]);
});

test("no more is read than is taken, and all that is", async () => {
  const socket = asSocket(new PassThrough({ autoDestroy: false }));
  let read: OnReadOpts | undefined;
  const guarded = new GuardedSocket((onread) => {
    read = onread;
    return socket;
  });
  const receive = (frames: Buffer) =>
    read?.callback(frames.copy(read.buffer as Buffer), read.buffer as Buffer);
  const sent = Array.from({ length: 40 }, (_, index) =>
    frame(frameType.data, { streamId: 1, payload: Buffer.alloc(16_000, index) }),
  );
  const rest = sent.values();
  for (const one of rest) if (!receive(one)) break;
  expect(guarded.readableLength).toBeLessThan(128 * 1024);
  const taken: Buffer[] = [];
  guarded.on("data", (chunk: Buffer) => taken.push(Buffer.from(chunk)));
  await once(socket, "resume");
  for (const one of rest) receive(one);
  socket.emit("end");
  await once(guarded, "end"); // though the socket is not closed
  expect(Buffer.concat(taken).equals(Buffer.concat(sent))).toBe(true);
});
