/** How much a peer may send before somebody reads it: as its own side counts. */
import { once } from "node:events";
import http2, { type ClientHttp2Session, constants, type ServerHttp2Stream } from "node:http2";
import { expect, test, vi } from "vitest";
import { Windows, windowBytesMax } from "../../src/http/windows.ts";
import { openFakeServer } from "../client/fake-server.ts";
import { data, headers } from "../support/create-volume.ts";
import { listen } from "../support/free-port.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { frameType, greeting, parseFrames, settingsAck } from "../support/raw-http2.ts";
import { openTestService } from "../support/test-service.ts";
import { patienceMs, within } from "../support/within.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

test("a server lets a stream send 4 MiB, and a connection four times as much", async () => {
  await using server = await openTestService();
  const session = http2.connect(server.origin);
  await within("settings", once(session, "remoteSettings"));
  expect(session.remoteSettings.initialWindowSize).toBe(4 * MiB);
  await vi.waitFor(() => expect(session.state.remoteWindowSize).toBe(16 * MiB), patienceMs);
  session.destroy();
});

test("so does a client", async () => {
  await using fake = await openFakeServer((stream) => {
    const { remoteSettings, state } = stream.session ?? expect.unreachable();
    const windows = [remoteSettings.initialWindowSize, state.remoteWindowSize];
    stream.respond({ ":status": 200, "content-type": "application/grpc", windows: `${windows}` });
    stream.end();
  });
  const error = await fake.catalog.getVolume({}).catch((reason: unknown) => reason);
  expect(error).toHaveProperty("metadata");
  const { metadata } = error as { metadata: Headers };
  expect(metadata.get("windows")).toBe(`${4 * MiB},${16 * MiB}`);
});

/** A server that reads nothing until it is told, with little room for what is unread. */
async function openUnread(bytesMax: number) {
  const windows = new Windows(bytesMax);
  const streams: ServerHttp2Stream[] = [];
  const server = http2.createServer({ settings: { initialWindowSize: windowBytesMax } });
  server.on("session", (session) => windows.add(session));
  server.on("stream", (stream: ServerHttp2Stream) => {
    windows.watch();
    stream.on("error", () => {});
    streams.push(stream);
  });
  const listener = await listen(server as never);
  const session = http2.connect(listener.url);
  const told: number[] = [];
  session.on("remoteSettings", ({ initialWindowSize = 0 }) => told.push(initialWindowSize));
  await within("settings", once(session, "remoteSettings"));
  return {
    ...{ session, streams, told, port: listener.port },
    get unreadBytes() {
      return streams.reduce((sum, one) => sum + (one.destroyed ? 0 : one.readableLength), 0);
    },
    async [Symbol.asyncDispose]() {
      session.destroy();
      await listener[Symbol.asyncDispose]();
    },
  };
}

function send(session: ClientHttp2Session, bytes: number) {
  const stream = session.request({ ":method": "POST" });
  stream.on("error", () => {});
  stream.end(Buffer.alloc(bytes));
  return stream;
}

test("windows shrink while little is read, and grow again", async () => {
  await using unread = await openUnread(4 * MiB);
  const { session, streams, told } = unread;
  for (let i = 0; i < 5; i++) send(session, MiB);
  await vi.waitFor(() => expect(told.at(-1)).toBe(64 * KiB), { timeout: patienceMs, interval: 5 });
  for (const stream of streams) stream.resume();
  await vi.waitFor(() => expect(told.at(-1)).toBe(MiB), { timeout: patienceMs, interval: 5 });
  expect(unread.unreadBytes).toBe(0);
});

test("streams end that hold the most, where more is unread than there is room for", async () => {
  await using unread = await openUnread(MiB);
  const small = send(unread.session, KiB);
  const large = Array.from({ length: 32 }, () => send(unread.session, MiB));
  // They have windows from before the first were full.
  const isEnded = () => large.some(({ rstCode }) => rstCode !== 0);
  await vi.waitFor(() => expect(isEnded()).toBe(true), { timeout: patienceMs, interval: 5 });
  expect(large.find(({ rstCode }) => rstCode !== 0)?.rstCode).toBe(
    constants.NGHTTP2_ENHANCE_YOUR_CALM,
  );
  await vi.waitFor(() => expect(unread.unreadBytes).toBeLessThan(2 * MiB), { timeout: patienceMs });
  expect(small.destroyed).toBe(false);
});

test("tiny pieces count as the memory around them", async () => {
  await using unread = await openUnread(256 * KiB);
  using connection = await openRawConnection(unread.port);
  const pieces = Array.from({ length: 10_000 }, () => data(1, "x", 0));
  connection.write(Buffer.concat([greeting, settingsAck, headers(1), ...pieces]));
  const isReset = (bytes: Buffer) =>
    parseFrames(bytes).some(
      ({ type, payload }) =>
        type === frameType.rstStream &&
        payload.readUInt32BE() === constants.NGHTTP2_ENHANCE_YOUR_CALM,
    );
  await connection.until("a reset", isReset);
});
