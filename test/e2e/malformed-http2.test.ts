/** What is wrong with HTTP/2 itself, frame by frame: refused, and the server goes on. */
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { exchange } from "../support/http-exchange.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import {
  errorCode,
  type Frame,
  fieldBlock,
  flag,
  frame,
  frameType,
  greeting,
  parseFrames,
  settingsAck,
} from "../support/raw-http2.ts";
import { knownToken, openTestServer, type TestServer } from "../support/test-server.ts";

type Field = readonly [name: string, value: string];

const right: readonly Field[] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/plants"],
  [":authority", "a"],
  ["authorization", `Bearer ${knownToken}`],
  ["content-type", "application/json"],
];
const plant = Buffer.from('{"id":1,"name":"Basil"}');

/** The right fields, with these in place of those of the same name; null leaves one out. */
function fields(other: Readonly<Record<string, string | null>>): Field[] {
  const kept = right.map(([name, value]) => [name, name in other ? other[name] : value] as const);
  const added = Object.entries(other).filter(([name]) => !right.some(([known]) => known === name));
  return [...kept, ...added].flatMap(([name, value]) => (value == null ? [] : [[name, value]]));
}

function request(block: readonly Field[], streamId = 1): Buffer {
  const payload = fieldBlock(block);
  return Buffer.concat([
    frame(frameType.headers, { flags: flag.endHeaders, streamId, payload }),
    frame(frameType.data, { flags: flag.endStream, streamId, payload: plant }),
  ]);
}

const isEnd = ({ type, flags, streamId }: Frame) =>
  type === frameType.goaway ||
  (streamId !== 0 &&
    (type === frameType.rstStream ||
      ((type === frameType.data || type === frameType.headers) && (flags & flag.endStream) !== 0)));

/** The frames up to the end of the first answer, or of the connection. */
async function answer(connection: RawConnection, isOver = isEnd): Promise<Frame[]> {
  const received = await connection.until("an answer", (bytes) => parseFrames(bytes).some(isOver));
  return parseFrames(received);
}

function bodyOf(frames: readonly Frame[], streamId: number): string {
  const data = frames.filter((one) => one.type === frameType.data && one.streamId === streamId);
  return Buffer.concat(data.map(({ payload }) => payload)).toString();
}

describe("over HTTP/2", () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await openTestServer();
    return () => server.close();
  });

  /** A connection that has greeted. */
  async function open(): Promise<RawConnection> {
    const connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck]));
    return connection;
  }

  async function expectGoodAnswer(connection: RawConnection, streamId: number) {
    connection.write(request(right, streamId));
    const isOver = (one: Frame) => one.streamId === streamId && isEnd(one);
    expect(bodyOf(await answer(connection, isOver), streamId)).toBe('{"name":"Basil"}');
  }

  test.each([
    [":authority [", fields({ ":authority": "[" }), Code.InvalidArgument],
    [":authority [::1", fields({ ":authority": "[::1" }), Code.InvalidArgument],
    [":authority with a bad port", fields({ ":authority": "a:b" }), Code.InvalidArgument],
    [
      ":authority with a port over 65535",
      fields({ ":authority": "a:99999" }),
      Code.InvalidArgument,
    ],
    [":authority with a bad escape", fields({ ":authority": "%zz" }), Code.InvalidArgument],
    ["a host [ in its place", fields({ ":authority": null, host: "[" }), Code.InvalidArgument],
    ["a :path //[", fields({ ":path": "//[" }), Code.InvalidArgument],
    ["a :method in small letters", fields({ ":method": "post" }), Code.Unimplemented],
    ["a :path that is not served", fields({ ":path": "/plants/../plants" }), Code.NotFound],
    ["a token that is unknown", fields({ authorization: "Bearer x" }), Code.Unauthenticated],
    ["an expectation that nobody knows", fields({ expect: "more" }), Code.InvalidArgument],
  ])("answers %s with an error body, and goes on", async (_what, block, error) => {
    using connection = await open();
    connection.write(request(block));
    const body = bodyOf(await answer(connection), 1);
    expect(JSON.parse(body)).toEqual({ error, message: expect.stringMatching(/./) });
    await expectGoodAnswer(connection, 3);
  });

  test.each([
    ["no :method", fields({ ":method": null })],
    ["no :scheme", fields({ ":scheme": null })],
    ["no :path", fields({ ":path": null })],
    ["no :authority and no host", fields({ ":authority": null })],
    ["an empty :path", fields({ ":path": "" })],
    ["a :path without a slash", fields({ ":path": "plants" })],
    ["a :path with U+0000", fields({ ":path": "/pla\0nts" })],
    ["an empty :authority", fields({ ":authority": "" })],
    [":authority with a user", fields({ ":authority": "user@a" })],
    [":authority with a space", fields({ ":authority": "a b" })],
    ["two hosts", [...fields({ ":authority": null }), ["host", "a"], ["host", "b"]] as Field[]],
    ["a pseudo header twice", [...right.slice(0, 1), ...right]],
    ["a pseudo header that is unknown", [[":plant", "x"] as const, ...right]],
    ["a pseudo header behind a field", [...right.slice(1), [":method", "POST"] as const]],
    ["a field name in capitals", fields({ "X-Plant": "x" })],
    ["a connection header", fields({ connection: "close" })],
    ["a transfer coding", fields({ "transfer-encoding": "chunked" })],
    ["a length of letters", fields({ "content-length": "x" })],
    ["another te than trailers", fields({ te: "gzip" })],
  ])("resets a stream with %s, and goes on", async (_what, block) => {
    using connection = await open();
    connection.write(request(block));
    const frames = await answer(connection);
    const reset = frames.find(({ type }) => type === frameType.rstStream);
    expect(reset?.payload.readUInt32BE()).toBe(errorCode.protocol);
    await expectGoodAnswer(connection, 3);
  });

  test.each([
    ["a block of fields that is garbage", garbage(frameType.headers, 1)],
    ["data on a stream that is not open", frame(frameType.data, { streamId: 1, payload: plant })],
    ["an even stream", request(right, 2)],
    ["headers on stream 0", garbage(frameType.headers, 0)],
    ["a frame over the limit", frame(0, { streamId: 1, payload: Buffer.alloc(20_000) })],
    ["settings of an odd length", frame(frameType.settings, { payload: Buffer.alloc(5) })],
    ["a ping of an odd length", frame(frameType.ping, { payload: Buffer.alloc(5) })],
    ["a window of 0", frame(frameType.windowUpdate, { payload: Buffer.alloc(4) })],
    ["a continuation of nothing", garbage(frameType.continuation, 1)],
    ["HTTP/1.1 behind the preface", Buffer.from("POST /plants HTTP/1.1\r\nHost: a\r\n\r\n")],
  ])("ends a connection with %s, and answers the next", async (_what, bytes) => {
    {
      using connection = await open();
      connection.write(bytes);
      const frames = parseFrames(await connection.untilClosed());
      expect(frames.at(-1)?.type).toBe(frameType.goaway);
    }
    using next = await open();
    await expectGoodAnswer(next, 1);
  });

  test("refuses a body that is not as long as it says, and answers the next", async () => {
    {
      using connection = await open();
      connection.write(request(fields({ "content-length": "3" })));
      await connection.untilClosed();
    }
    using next = await open();
    await expectGoodAnswer(next, 1);
  });

  test("goes on when clients leave amid a request, with a token or without", async () => {
    for (const block of [right, fields({ authorization: null }), fields({ ":path": "/x" })]) {
      using connection = await open();
      connection.write(request(block).subarray(0, -5));
      await connection.until("the settings", (bytes) => parseFrames(bytes).length > 0);
    }
    using next = await open();
    await expectGoodAnswer(next, 1);
  });

  test.each([
    ["a header over 16 KiB", { x: "x".repeat(17 * 1024) }],
    ["headers over 16 KiB", Object.fromEntries(many(90).map((i) => [`h${i}`, "x".repeat(200)]))],
    ["more than 100 headers", Object.fromEntries(many(150).map((i) => [`h${i}`, "x"]))],
  ])("refuses %s", async (_what, headers) => {
    const outcome = exchange({
      origin: server.url,
      version: "2",
      path: "/plants",
      headers: {
        authorization: `Bearer ${knownToken}`,
        "content-type": "application/json",
        ...headers,
      },
      body: plant,
    }).then(
      ({ status }) => status,
      (error: { code?: string }) => error.code,
    );
    expect([431, "ERR_HTTP2_STREAM_ERROR"]).toContain(await outcome);
  });
});

function garbage(type: number, streamId: number): Buffer {
  return frame(type, { flags: flag.endHeaders, streamId, payload: Buffer.alloc(6, 0xff) });
}

function many(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}
