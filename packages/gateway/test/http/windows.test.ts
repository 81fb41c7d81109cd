/** How much a peer may send before somebody reads it: as its own side counts. */
import { once } from "node:events";
import http2, { type ClientHttp2Session, constants, type ServerHttp2Stream } from "node:http2";
import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { FetchExchange } from "../../src/http/fetch-exchange.ts";
import { createWindows, readChunks } from "../../src/http/windows.ts";
import { openFakeServer } from "../client/fake-server.ts";
import { framesIn, frameType, greeting, settingsAck } from "../support/frames.ts";
import { listen } from "../support/free-port.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { openTestService } from "../support/test-service.ts";
import { createPath, data, headers } from "../support/volumes.ts";
import { within } from "../support/within.ts";

const calm = constants.NGHTTP2_ENHANCE_YOUR_CALM;
const KiB = 1024;
const MiB = 1024 * KiB;
const windowBytesMax = 2 * MiB;

test("a server lets a stream send 2 MiB, and a connection eight times as much", async () => {
  await using server = await openTestService();
  const session = http2.connect(server.origin);
  await expect.poll(() => session.remoteSettings?.initialWindowSize).toBe(2 * MiB);
  await expect.poll(() => session.state.remoteWindowSize).toBe(16 * MiB);
  session.destroy();
});

test("a client lets a stream send 16 MiB", async () => {
  await using fake = await openFakeServer((stream) => {
    const { remoteSettings, state } = stream.session ?? expect.unreachable();
    const windows = [remoteSettings.initialWindowSize, state.remoteWindowSize];
    stream.respond({ ":status": 200, "content-type": "application/grpc", windows: `${windows}` });
    stream.end();
  });
  const error = await fake.catalog.getVolume({}).catch((reason: unknown) => reason);
  const { metadata } = error as { metadata: Headers };
  expect(metadata.get("windows")).toBe(`${16 * MiB},${128 * MiB}`);
});

test("windows grow while streams are few", async () => {
  await using server = await openTestService();
  const session = http2.connect(server.origin);
  const windows: number[] = [];
  session.on("remoteSettings", ({ initialWindowSize = 0 }) => windows.push(initialWindowSize));
  const open = () => {
    const type = { "content-type": "application/json" };
    session.request({ ":method": "POST", ":path": createPath, ...type }).write("{");
  };
  open();
  await expect.poll(() => windows.at(-1)).toBe(8 * MiB);
  for (let i = 0; i < 70; i++) open();
  await expect.poll(() => windows.at(-1)).toBe(2 * MiB);
  session.destroy();
});

const openWindows = (unreadBytesMax: number) =>
  createWindows({ firstWindowBytes: windowBytesMax, windowBytesMax, unreadBytesMax });

/** A server that reads nothing until it is told, with little room for what is unread. */
async function openUnread(bytesMax: number) {
  const windows = openWindows(bytesMax);
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
}

test("windows shrink while little is read, and grow again, even if looks take a minute", async () => {
  await using unread = await openUnread(4 * MiB);
  let minutes = 0;
  using _clock = vi.spyOn(performance, "now").mockImplementation(() => 60_000 * minutes++);
  const { session, streams, told } = unread;
  for (let i = 0; i < 5; i++) send(session, MiB);
  await expect.poll(() => told.at(-1)).toBe(64 * KiB);
  for (const stream of streams) stream.resume();
  await expect.poll(() => told.at(-1)).toBe(MiB);
  expect(unread.unreadBytes).toBe(0);
});

test("windows shrink where many streams hold a little", async () => {
  await using unread = await openUnread(8 * MiB);
  for (let i = 0; i < 40; i++) send(unread.session, 16 * KiB);
  await expect.poll(() => unread.told.at(-1)).toBe(256 * KiB);
  expect(unread.unreadBytes).toBeLessThan(MiB);
});

/** Without `settingsAck` for windows that shrink, as a peer that ignores them. */
const bodyOf = (streamId: number, bytes: number) =>
  Array.from({ length: bytes / (16 * KiB) }, () => data(streamId, "x".repeat(16 * KiB), 0));

const bodiesOf = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, index) => 2 * index + 1).flatMap((id) => [
    headers(id),
    ...bodyOf(id, bytes),
  ]);

const resetStreams = (bytes: Buffer) =>
  framesIn(bytes)
    .filter(({ type, payload }) => type === frameType.rstStream && payload.readUInt32BE() === calm)
    .map(({ streamId }) => streamId);

test("no stream ends that has heard too late that windows shrink", async () => {
  await using unread = await openUnread(8 * MiB);
  const { session, streams } = unread;
  // All that the first windows allow.
  for (let i = 0; i < 16; i++) send(session, MiB);
  await expect.poll(() => unread.unreadBytes).toBeGreaterThan(8 * MiB);
  await expect.poll(() => unread.told.at(-1)).toBe(64 * KiB);
  const bytes = streams.map(async (stream) => (await stream.toArray()).join("").length);
  expect(await Promise.all(bytes)).toEqual(streams.map(() => MiB));
});

test("streams end that hold the most, where more is unread than there is room for", async () => {
  await using unread = await openUnread(MiB);
  using connection = await openRawConnection(unread.port);
  const small = [headers(1), ...bodyOf(1, 64 * KiB)];
  const large = [3, 5, 7, 9, 11, 13, 15, 17, 19].flatMap((id) => [headers(id), ...bodyOf(id, MiB)]);
  connection.write(Buffer.concat([greeting, settingsAck, ...small, ...large]));
  const seen = await connection.until("a reset", (bytes) => resetStreams(bytes).length > 0);
  expect(resetStreams(seen)).not.toContain(1);
  await expect.poll(() => unread.unreadBytes).toBeLessThan(8 * MiB);
});

test("streams of the connection that holds the most end first", async () => {
  await using unread = await openUnread(MiB);
  // A larger one than any of those.
  send(unread.session, MiB / 2);
  await expect.poll(() => unread.unreadBytes).toBe(MiB / 2);
  using connection = await openRawConnection(unread.port);
  connection.write(Buffer.concat([greeting, settingsAck, ...bodiesOf(24, MiB / 4)]));
  await connection.until("a reset", (bytes) => resetStreams(bytes).length > 0);
  expect(unread.streams[0]?.destroyed).toBe(false);
});

test("small streams of the connection that holds the most spare no large ones", async () => {
  await using unread = await openUnread(MiB);
  using many = await openRawConnection(unread.port);
  many.write(Buffer.concat([greeting, settingsAck, ...bodiesOf(100, 32 * KiB)]));
  await expect.poll(() => unread.unreadBytes).toBe(100 * 32 * KiB);
  using few = await openRawConnection(unread.port);
  few.write(Buffer.concat([greeting, settingsAck, ...bodiesOf(2, MiB)]));
  await few.until("a reset", (bytes) => resetStreams(bytes).length > 0);
});

test("streams of a server that is called never end because they are unread", async () => {
  const windows = openWindows(128 * KiB);
  const server = http2.createServer((_request, response) => void response.end(Buffer.alloc(MiB)));
  await using listener = await listen(server as never);
  const session = http2.connect(listener.url, { settings: { initialWindowSize: windowBytesMax } });
  windows.add(session);
  const told: unknown[] = [];
  session.on("localSettings", ({ initialWindowSize }) => told.push(initialWindowSize));
  const streams = Array.from({ length: 8 }, () => session.request({ ":path": "/" }));
  windows.watch();
  await expect.poll(() => told).toContain(64 * KiB);
  const bytes = streams.map(async (stream) => (await stream.toArray()).join("").length);
  expect(await Promise.all(bytes)).toEqual(Array(8).fill(MiB));
  session.destroy();
});

test("tiny pieces count as the memory around them", async () => {
  await using unread = await openUnread(256 * KiB);
  using connection = await openRawConnection(unread.port);
  const pieces = Array.from({ length: 10_000 }, () => data(1, "x", 0));
  connection.write(Buffer.concat([greeting, settingsAck, headers(1), ...pieces]));
  await connection.until("a reset", (bytes) => resetStreams(bytes).length > 0);
});

const pieces = Array(5).fill(Buffer.alloc(20_000));
const post = () => new Request("http://a", { method: "POST", body: Buffer.alloc(80_000) });

test.each([
  ["Node", () => readChunks(Readable.from(pieces, { objectMode: false }))],
  ["fetch", () => new FetchExchange(post(), undefined, new BodyBudget()).chunks()],
])("readers by %s whose chunks take long give others a turn, one at a time", async (_, chunks) => {
  let turns = 0;
  const timer = setInterval(() => turns++);
  const read = async () => {
    for await (const _ of chunks())
      for (const end = performance.now() + 6; performance.now() < end; );
  };
  await Promise.all([read(), read()]);
  clearInterval(timer);
  expect(turns).toBeGreaterThanOrEqual(8);
});
