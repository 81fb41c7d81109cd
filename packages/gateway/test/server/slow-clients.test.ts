/** Slow, silent or greedy clients: each is released within a limit. */
import { once } from "node:events";
import http2 from "node:http2";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { defaultLimits } from "../../src/server/limits.ts";
import { versions } from "../support/catalog.ts";
import { exchange } from "../support/exchange.ts";
import {
  bytesWithoutWindow,
  errorCode,
  flag,
  frame,
  framesIn,
  frameType,
  greeting,
  http2Bytes,
  preface,
  resetFrame,
  sees,
  settingsAck,
} from "../support/frames.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import { openTestPort, watchClose } from "../support/test-port.ts";
import { openTestService } from "../support/test-service.ts";
import {
  answer,
  createRequest,
  createRpcPath,
  data,
  headers,
  post,
  volume,
} from "../support/volumes.ts";
import { patienceMs, within } from "../support/within.ts";

/** Sends a byte every few milliseconds, which prevents every idle timeout. */
function drip(connection: RawConnection, bytes: string | Uint8Array): Disposable {
  const timer = setInterval(() => connection.write(bytes), 20);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Waits until a client that sends this and nothing more has timed out so often. */
async function expireTimes(count: number, port: number, sent: string | Buffer = ""): Promise<void> {
  for (let i = 0; i < count; i++) {
    using silent = await openRawConnection(port);
    silent.write(sent);
    await silent.untilClosed();
  }
}

const chunked = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const endless = post("").replace("Content-Length: 0", "Transfer-Encoding: chunked");
const end = flag.endHeaders | flag.endStream;

const whole = [headers(1), data(1, volume)];

const streamIds = (count: number) => Array.from({ length: count }, (_, i) => 2 * i + 1);
const begunAndReset = (id: number) => [headers(id), resetFrame(id, errorCode.cancel)];

describe.concurrent("over HTTP/1.1", () => {
  const limits = { requestTimeoutMs: 300, idleTimeoutMs: 5000 };

  test.each([
    ["headers", "POST /v1/shelves/a/volumes HTTP/1.1\r\nHost: a\r\nX: "],
    ["body", post("").replace("Content-Length: 0", "Content-Length: 100000")],
    ["trailers", `${post("").replace("Content-Length: 0", "Transfer-Encoding: chunked")}0\r\nX: `],
  ])("answers a client that never finishes sending its %s with 408", async (_what, begin) => {
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    connection.write(begin);
    using _drip = drip(connection, " ");
    const [response] = parseHttp1Responses(await connection.untilClosed());
    expect(response?.status).toBe(408);
    expect(JSON.parse(response?.body ?? "").code).toBe(Code.DeadlineExceeded);
  });

  test("closes an idle connection", async () => {
    await using server = await openTestService({ limits: { idleTimeoutMs: 100 } });
    using connection = await openRawConnection(server.port);
    connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    const [response] = parseHttp1Responses(await connection.untilClosed());
    expect(response?.status).toBe(200);
  });
});

describe.concurrent("a server", () => {
  test.each(versions)("does not count the duration of the call, over HTTP/%s", async (version) => {
    const limits = { requestTimeoutMs: 500, idleTimeoutMs: 500 };
    await using server = await openTestService({ limits });
    using hold = server.hold();
    const response = exchange({ origin: server.origin, version, ...createRequest });
    // Idle sessions have ended by now, one after another.
    await expireTimes(3, server.port, http2Bytes());
    hold.release();
    expect(await response).toMatchObject({ status: 200 });
  });

  test.each<
    [version: string, begin: string | Buffer, piece: string | Buffer, last: string | Buffer]
  >([
    ["1.1", endless, chunked(" ".repeat(20)), `${chunked(volume)}${chunked("")}`],
    ["2", http2Bytes(headers(1)), data(1, " ".repeat(20), 0), data(1, volume)],
  ])("takes a steady upload, however long, over HTTP/%s", async (_version, begin, piece, last) => {
    const limits = { requestTimeoutMs: 1000, idleTimeoutMs: 50 }; // it looks each 50 ms
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    connection.write(begin);
    {
      using _drip = drip(connection, piece);
      await expireTimes(2, server.port);
    }
    connection.write(last);
    await connection.until("the volume", (bytes) => bytes.includes(answer));
  });
});

describe.concurrent("over HTTP/2", () => {
  const limits = { requestTimeoutMs: 200, idleTimeoutMs: 400 };

  test.each([
    ["never sends its settings", preface],
    ["does not complete its headers", http2Bytes(headers(1, { flags: 0 }))],
    ["has no window for its answers", bytesWithoutWindow(...whole)],
  ])("closes a session that %s", async (_what, sent) => {
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    connection.write(sent);
    await connection.untilClosed();
  });

  test("closes an idle session after a request", async () => {
    await using server = await openTestService({ limits: { idleTimeoutMs: 200 } });
    using connection = await openRawConnection(server.port);
    connection.write(http2Bytes(...whole));
    const frames = framesIn(await connection.untilClosed());
    expect(frames.filter(({ type }) => type === frameType.headers)).toHaveLength(1);
    expect(frames.at(-1)?.type).toBe(frameType.goaway);
  });

  test("closes one without a window at once if its client has shut its sending side", async () => {
    await using server = await openTestService();
    using connection = await openRawConnection(server.port);
    connection.write(bytesWithoutWindow(...whole));
    await connection.until("the head of an answer", sees(frameType.headers));
    connection.end();
    // As soon as the drain begins, or long before its end.
    await within("the drain", server.drain(10 * patienceMs));
    await connection.untilClosed();
  });

  test("closes the connection of a session whose client reads nothing", async () => {
    const { traffic, closed } = watchClose();
    await using port = await openTestPort({
      limits: { ...defaultLimits, idleTimeoutMs: 200 },
      // More than the system buffers.
      serve: (_request, response) => void response.end(Buffer.alloc(16 * 1024 * 1024)),
      traffic,
    });
    using connection = await openRawConnection(port.address.port);
    connection.socket.pause();
    const windowMax = Buffer.of(0, 4, 0x7f, 0xff, 0xff, 0xff);
    const settings = frame(frameType.settings, { payload: windowMax });
    const room = frame(frameType.windowUpdate, { payload: Buffer.of(0x7f, 0xff, 0, 0) });
    const request = headers(1, { flags: end });
    connection.write(Buffer.concat([preface, settings, settingsAck, room, request]));
    await within("the end of the connection", closed);
  });

  test("closes a session that read its answer late, once its call is over", async () => {
    const limits = { requestTimeoutMs: 300, idleTimeoutMs: 1500 };
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    const watch = headers(1, { path: "/grpc.health.v1.Health/Watch", type: "application/grpc" });
    connection.write(bytesWithoutWindow(watch, data(1, "\0\0\0\0\0")));
    // It is known to be idle by the time that others that never begin have been released.
    await expireTimes(2, server.port, preface);
    const room = Buffer.of(0, 0, 4, 0);
    connection.write(frame(frameType.windowUpdate, { streamId: 1, payload: room }));
    // Its own timeout expires while the call is running again.
    await expireTimes(2, server.port, http2Bytes());
    await connection.until("an answer", sees(frameType.data));
    connection.write(resetFrame(1, errorCode.cancel));
    await connection.untilClosed();
  });

  test.each([
    ["does not arrive", ""],
    ["arrives in drips", data(1, " ", 0)],
  ])("answers a request whose body %s with 408, and resets its stream", async (_what, more) => {
    await using server = await openTestService({ limits: { requestTimeoutMs: 300 } });
    using connection = await openRawConnection(server.port);
    // What has come earlier does not count.
    connection.write(http2Bytes(headers(1), data(1, "{".padEnd(10_000), 0)));
    let received: Buffer;
    {
      using _drip = drip(connection, more);
      received = await connection.until("a reset", sees(frameType.rstStream));
    }
    const frames = framesIn(received);
    const body = frames.filter(({ type }) => type === frameType.data).map((one) => one.payload);
    const told = JSON.parse(Buffer.concat(body).toString());
    const message = "the request took too long to arrive";
    expect(told).toEqual({ code: Code.DeadlineExceeded, message, details: [] });
    const reset = frames.find(({ type }) => type === frameType.rstStream);
    expect(reset?.payload.readUInt32BE()).toBe(errorCode.cancel);
    // The session continues.
    connection.write(Buffer.concat([headers(3), data(3, volume)]));
    await connection.until("the volume", (bytes) => bytes.includes(answer));
  });

  test("resets a request whose frame arrives in drips", async () => {
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    connection.write(http2Bytes(headers(1), data(1, " ".repeat(16_000), 0).subarray(0, 9)));
    using _drip = drip(connection, " ");
    await connection.until("a reset", sees(frameType.rstStream));
  });

  test.each([
    ["application/grpc", 200, "4"],
    ["application/grpc-web+proto", 200, "4"],
    ["application/proto", 408, "deadline_exceeded"],
  ])("ends a call of %s whose message does not arrive: %i", async (type, status, code) => {
    await using server = await openTestService({ limits });
    const session = http2.connect(server.origin);
    const request = { ":method": "POST", ":path": createRpcPath, "content-type": type };
    const stream = session.request(request).on("error", () => {});
    const body: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => body.push(chunk));
    const ended = new Promise((resolve) => stream.once("close", resolve));
    const [head] = await within("the answer", once(stream, "response"));
    await within("the end of the stream", ended);
    const told = head["grpc-status"] ?? JSON.parse(Buffer.concat(body).toString()).code;
    expect([head[":status"], told]).toEqual([status, code]);
    session.destroy();
  });

  test("does not count the time until somebody reads a request", async () => {
    const limits = { ...defaultLimits, requestTimeoutMs: 100, idleTimeoutMs: 200 };
    const called = Promise.withResolvers<http2.ServerHttp2Stream>();
    const serveStream = (stream: http2.ServerHttp2Stream) => {
      called.resolve(stream);
      return true;
    };
    await using port = await openTestPort({ limits, serveStream });
    const origin = `http://127.0.0.1:${port.address.port}`;
    const response = exchange({ origin, version: "2", path: "/", body: "a" });
    const served = await called.promise;
    await expireTimes(3, port.address.port, http2Bytes());
    served.respond({ ":status": 200 }, { endStream: true });
    expect(await response).toMatchObject({ status: 200 });
  });

  test("ends a request that is reset without an error, though nobody reads it", async () => {
    const called = Promise.withResolvers<http2.ServerHttp2Stream>();
    const serveStream = (stream: http2.ServerHttp2Stream) => {
      called.resolve(stream);
      return stream.read(0) === null; // or Node would discard it
    };
    await using port = await openTestPort({ serveStream });
    using connection = await openRawConnection(port.address.port);
    connection.write(http2Bytes(headers(1), data(1, "unread", 0)));
    const ended = once(await called.promise, "close");
    connection.write(resetFrame(1, errorCode.noError));
    await within("the end of the stream", ended);
  });

  test("unread answers do not harm other calls of their connection", async () => {
    const serve = (_request: unknown, response: { end(body: Buffer): unknown }) =>
      void response.end(Buffer.alloc(2 ** 20));
    await using port = await openTestPort({ serve });
    const session = http2.connect(`http://127.0.0.1:${port.address.port}`);
    for (let call = 0; call < 20; call++) {
      const [head] = await within("the head", once(session.request({}), "response"));
      expect(head[":status"]).toBe(200);
    }
    session.destroy();
  });

  test("rejects streams above its limit, without harm to the others", async () => {
    await using server = await openTestService({ limits: { streamsMax: 2 } });
    using hold = server.hold();
    using connection = await openRawConnection(server.port);
    // The settings are not acknowledged yet, so the client does not know the limit.
    const requests = [1, 3, 5].flatMap((id) => [headers(id), data(id, volume)]);
    connection.write(Buffer.concat([greeting, ...requests]));
    const received = await connection.until("a reset", sees(frameType.rstStream));
    expect(received.includes(resetFrame(5, errorCode.refusedStream))).toBe(true);
    hold.release();
    await connection.until("two volumes", (bytes) => /"Emma".*"Emma"/s.test(`${bytes}`));
  });

  test("closes a session that resets streams by the ten thousand", async () => {
    await using server = await openTestService();
    using connection = await openRawConnection(server.port);
    // A busy machine takes them at little more than the rate that is allowed.
    connection.write(http2Bytes(...streamIds(60_000).flatMap(begunAndReset)));
    const last = framesIn(await connection.untilClosed()).at(-1);
    expect(last?.type).toBe(frameType.goaway);
    expect(last?.payload.readUInt32BE()).toBeGreaterThan(2 * 10_000); // the last one that it took
  });

  // Until its next turn, Node counts those that were reset, and rejects as many new ones.
  test("keeps a session that begins many streams anew, and sends empty frames", async () => {
    await using server = await openTestService({ limits: { streamsMax: 200 } });
    using connection = await openRawConnection(server.port);
    const ping = frame(frameType.ping, { payload: Buffer.alloc(8) });
    connection.write(http2Bytes(...streamIds(400).flatMap(begunAndReset), ping));
    await connection.until("an answer to the ping", sees(frameType.ping));
    const empty = Array.from({ length: 200 }, () => data(801, "", 0));
    connection.write(Buffer.concat([headers(801), ...empty, data(801, volume)]));
    await connection.until("a volume", (bytes) => bytes.includes('"title":"Emma"'));
  });
});

describe.concurrent("a connection with endless answers", () => {
  const limits = { ...defaultLimits, requestTimeoutMs: 300, idleTimeoutMs: 300 };

  test("ends over HTTP/1.1 if its next request does not arrive completely", async ({ expect }) => {
    await using port = await openTestPort({ limits });
    using connection = await openRawConnection(port.address.port);
    connection.write("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHo");
    expect((await connection.untilClosed()).toString()).toBe("");
  });

  const ends = ["end", "resetAndDestroy"] as const;
  test.each(ends)("ends over HTTP/2 after a violation of the protocol and %s()", async (leave) => {
    const { traffic, closed } = watchClose();
    await using port = await openTestPort({
      ...{ limits: leave === "end" ? limits : defaultLimits, traffic }, // a reset needs no timeout
      serveStream: (stream) => {
        stream.on("error", () => {}).respond({ ":status": 200 });
        return true;
      },
    });
    using connection = await openRawConnection(port.address.port);
    const goaway = frame(frameType.goaway, { payload: Buffer.alloc(8) });
    connection.write(http2Bytes(headers(1, { flags: end }), goaway, data(0, "x", 0)));
    await connection.until("GOAWAY", sees(frameType.goaway));
    connection.socket[leave]();
    await within("the end of the connection", closed);
  });
});
