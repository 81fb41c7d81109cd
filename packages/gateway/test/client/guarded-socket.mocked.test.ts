/** The place and the name by which a server is called, and how much of what it sends is read. */
import { EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { GuardedSocket, openSocket, type SocketOptions } from "../../src/client/guarded-socket.ts";
import { frame, frameType } from "../support/raw-http2.ts";
import { patienceMs } from "../support/within.ts";

const { opened } = vi.hoisted(() => ({ opened: [] as unknown[] }));

vi.mock("node:net", async (original) => ({
  ...(await original<typeof import("node:net")>()),
  connect: (place: unknown) => {
    opened.push(["TCP", place]);
    return new EventEmitter();
  },
}));
vi.mock("node:tls", async (original) => ({
  ...(await original<typeof import("node:tls")>()),
  connect: (place: unknown) => {
    opened.push(["TLS", place]);
    return new EventEmitter();
  },
}));

const place = { host: "192.0.2.1", noDelay: true };
const h2 = { ALPNProtocols: ["h2"] };

test.each<[origin: string, options: Partial<SocketOptions>, opened: [string, unknown]]>([
  ["http://shop.example", {}, ["TCP", { ...place, port: 80 }]],
  ["http://shop.example:8080", {}, ["TCP", { ...place, port: 8080 }]],
  ["https://shop.example", {}, ["TLS", { ...place, ...h2, port: 443, servername: "shop.example" }]],
  ["https://192.0.2.1:8443", {}, ["TLS", { ...place, ...h2, port: 8443, servername: undefined }]],
  ["https://[::1]:8443", {}, ["TLS", { ...place, ...h2, port: 8443, servername: undefined }]],
  [
    "https://192.0.2.1",
    { tls: { serverName: "shop.example", ca: "a", cert: "b", key: "c" } },
    [
      "TLS",
      { ...place, ...h2, port: 443, servername: "shop.example", ca: "a", cert: "b", key: "c" },
    ],
  ],
  ["http://localhost", { socketPath: "/tmp/a.sock" }, ["TCP", "/tmp/a.sock"]],
])("%s, %j", (origin, options, expected) => {
  opened.length = 0;
  openSocket({ origin, address: "192.0.2.1", tls: {}, ...options });
  expect(opened).toEqual([expected]);
});

test("no more is read than is taken, and all that is", async () => {
  const server = new PassThrough({ autoDestroy: false }) as unknown as Socket;
  const guarded = new GuardedSocket(server);
  const data = frame(frameType.data, { streamId: 1, payload: Buffer.alloc(16_000) });
  for (let frames = 0; frames < 20; frames++) server.write(data);
  await vi.waitUntil(() => server.isPaused(), patienceMs);
  expect(guarded.readableLength).toBeLessThan(128 * 1024);
  server.end();
  let taken = 0;
  guarded.on("data", (chunk: Buffer) => {
    taken += chunk.length;
  });
  await once(guarded, "end"); // though the socket is not closed
  expect(taken).toBe(20 * data.length);
});
