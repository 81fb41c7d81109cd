/** Slow, silent or greedy clients: each is released within a limit. */
import { once } from "node:events";
import http2 from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { renderStatus } from "../../src/errors/http-error.ts";
import type { NodeHandler } from "../../src/index.ts";
import { createHttp2Server } from "../../src/server/http2.ts";
import { Intake } from "../../src/server/intake.ts";
import { defaultLimits } from "../../src/server/limits.ts";
import { createRefusals } from "../../src/server/refusal.ts";
import {
  answer,
  createRequest,
  createRpcPath,
  data,
  headers,
  post,
  volume,
} from "../support/create-volume.ts";
import { exchangeOn } from "../support/http-exchange.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import {
  errorCode,
  flag,
  frame,
  frameType,
  greeting,
  parseFrames,
  preface,
  settingsAck,
} from "../support/raw-http2.ts";
import { openTestPort } from "../support/test-port.ts";
import { openTestService } from "../support/test-service.ts";
import { patienceMs, within } from "../support/within.ts";

/** Sends a byte every few milliseconds, which prevents every idle timeout. */
function drip(connection: RawConnection, bytes: string | Uint8Array): Disposable {
  const timer = setInterval(() => connection.write(bytes), 20);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function chunked(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** Waits until a client that sends nothing has timed out so often. */
async function expireTimes(count: number, port: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    using silent = await openRawConnection(port);
    await silent.untilClosed();
  }
}

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

  test("does not count the duration of the call", async () => {
    await using server = await openTestService({ limits: { requestTimeoutMs: 500 } });
    using hold = server.hold();
    using connection = await openRawConnection(server.port);
    connection.write(post(volume));
    await expireTimes(2, server.port);
    hold.release();
    const isThere = (bytes: Buffer) => parseHttp1Responses(bytes).length > 0;
    const [response] = parseHttp1Responses(await connection.until("the answer", isThere));
    expect(response).toMatchObject({ status: 200, body: answer });
  });

  test("takes a steady upload, however long it takes", async () => {
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    connection.write(post("").replace("Content-Length: 0", "Transfer-Encoding: chunked"));
    {
      using _drip = drip(connection, chunked(" ".repeat(100)));
      await expireTimes(3, server.port);
    }
    connection.write(`${chunked(volume)}${chunked("")}`);
    const isThere = (bytes: Buffer) => parseHttp1Responses(bytes).length > 0;
    const [response] = parseHttp1Responses(await connection.until("the answer", isThere));
    expect(response).toMatchObject({ status: 200, body: answer });
  });

  test("closes an idle connection", async () => {
    await using server = await openTestService({ limits: { idleTimeoutMs: 100 } });
    using connection = await openRawConnection(server.port);
    connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    const [response] = parseHttp1Responses(await connection.untilClosed());
    expect(response?.status).toBe(200);
  });
});

describe.concurrent("over HTTP/2", () => {
  test("closes a session that never sends its settings", async () => {
    await using server = await openTestService({ limits: { requestTimeoutMs: 200 } });
    using connection = await openRawConnection(server.port);
    connection.write(preface);
    await connection.untilClosed();
  });

  test("closes an idle session after a request", async () => {
    await using server = await openTestService({ limits: { idleTimeoutMs: 200 } });
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck, headers(1), data(1, volume)]));
    const frames = parseFrames(await connection.untilClosed());
    expect(frames.filter(({ type }) => type === frameType.headers)).toHaveLength(1);
    expect(frames.at(-1)?.type).toBe(frameType.goaway);
  });

  test("closes a session that has no window for its answers", async () => {
    await using server = await openTestService({ limits: { idleTimeoutMs: 200 } });
    using connection = await openRawConnection(server.port);
    const noWindow = frame(frameType.settings, { payload: Buffer.of(0, 4, 0, 0, 0, 0) });
    connection.write(Buffer.concat([preface, noWindow, settingsAck, headers(1), data(1, volume)]));
    await connection.untilClosed();
  });

  test("closes one at once if its client has shut its sending side", async () => {
    await using server = await openTestService();
    using connection = await openRawConnection(server.port);
    const noWindow = frame(frameType.settings, { payload: Buffer.of(0, 4, 0, 0, 0, 0) });
    connection.write(Buffer.concat([preface, noWindow, settingsAck, headers(1), data(1, volume)]));
    await connection.until("the head of an answer", (bytes) =>
      parseFrames(bytes).some(({ type }) => type === frameType.headers),
    );
    connection.end();
    // As soon as the drain begins, or long before its end.
    await within("the drain", server.drain(10 * patienceMs));
    await connection.untilClosed();
  });

  test("closes the connection of a session whose client reads nothing", async () => {
    const handler = (...[, response]: Parameters<NodeHandler>) => {
      response.end(Buffer.alloc(16 * 1024 * 1024)); // more than the system buffers
    };
    const limits = { ...defaultLimits, idleTimeoutMs: 200 };
    const sessions = createHttp2Server(
      limits,
      Object.assign(handler, { serveStream: () => false }),
      createRefusals(limits.idleTimeoutMs, renderStatus, () => {}),
      new Intake(),
    );
    const server = createServer((socket) => sessions.emit("connection", socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const accepted = once(server, "connection");
    using connection = await openRawConnection((server.address() as AddressInfo).port);
    connection.socket.pause();
    const [socket] = (await accepted) as [Socket];
    const windowMax = Buffer.of(0x7f, 0xff, 0xff, 0xff);
    const settings = frame(frameType.settings, { payload: Buffer.of(0, 4, ...windowMax) });
    const room = Buffer.of(0x7f, 0xff, 0, 0);
    const window = frame(frameType.windowUpdate, { payload: room });
    const end = flag.endHeaders + flag.endStream;
    connection.write(
      Buffer.concat([preface, settings, settingsAck, window, headers(1, { flags: end })]),
    );
    await within("the end of the connection", once(socket, "close"));
    server.close();
    await once(server, "close");
  });

  test("closes a session that read its answer late, once its call is over", async () => {
    await using server = await openTestService({
      limits: { requestTimeoutMs: 100, idleTimeoutMs: 500 },
    });
    using connection = await openRawConnection(server.port);
    const noWindow = frame(frameType.settings, { payload: Buffer.of(0, 4, 0, 0, 0, 0) });
    const watch = headers(1, { path: "/grpc.health.v1.Health/Watch", type: "application/grpc" });
    connection.write(Buffer.concat([preface, noWindow, settingsAck, watch, data(1, "\0\0\0\0\0")]));
    // It is known to be idle by the time that others that never begin have been released.
    for (let i = 0; i < 2; i++) {
      using silent = await openRawConnection(server.port);
      silent.write(preface);
      await silent.untilClosed();
    }
    const room = Buffer.of(0, 0, 4, 0);
    connection.write(frame(frameType.windowUpdate, { streamId: 1, payload: room }));
    // Its own timeout expires while the call is running again.
    for (let i = 0; i < 2; i++) {
      using resting = await openRawConnection(server.port);
      resting.write(Buffer.concat([greeting, settingsAck]));
      await resting.untilClosed();
    }
    await connection.until("an answer", (bytes) =>
      parseFrames(bytes).some(({ type }) => type === frameType.data),
    );
    const cancel = Buffer.of(0, 0, 0, errorCode.cancel);
    connection.write(frame(frameType.rstStream, { streamId: 1, payload: cancel }));
    await connection.untilClosed();
  });

  test("closes a session with incomplete headers", async () => {
    const limits = { requestTimeoutMs: 200, idleTimeoutMs: 400 };
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck, headers(1, { flags: 0 })]));
    await connection.untilClosed();
  });

  test("answers a request whose body does not arrive with 408, and resets its stream", async () => {
    await using server = await openTestService({ limits: { requestTimeoutMs: 200 } });
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck, headers(1), data(1, "{", 0)]));
    const received = await connection.until("a reset", (bytes) =>
      parseFrames(bytes).some(({ type }) => type === frameType.rstStream),
    );
    const frames = parseFrames(received);
    const body = frames.filter(({ type }) => type === frameType.data).map((one) => one.payload);
    expect(JSON.parse(Buffer.concat(body).toString())).toEqual({
      code: Code.DeadlineExceeded,
      message: "the request took too long to arrive",
      details: [],
    });
    const reset = frames.find(({ type }) => type === frameType.rstStream);
    expect(reset?.payload.readUInt32BE()).toBe(errorCode.cancel);
    // The session continues.
    connection.write(Buffer.concat([headers(3), data(3, volume)]));
    await connection.until("the volume", (bytes) => bytes.includes(answer));
  });

  test.each([
    ["frames", Buffer.alloc(0), data(1, " ", 0)],
    ["a frame", data(1, " ".repeat(16_000), 0).subarray(0, 9), " "],
  ])("does not let a client that drips %s continue forever", async (_what, first, again) => {
    const limits = { requestTimeoutMs: 300, idleTimeoutMs: 5000 };
    await using server = await openTestService({ limits });
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck, headers(1), first]));
    using _drip = drip(connection, again);
    await connection.until("a reset", (bytes) =>
      parseFrames(bytes).some(({ type }) => type === frameType.rstStream),
    );
  });

  test("takes a steady upload, however long it takes", async () => {
    await using server = await openTestService({ limits: { requestTimeoutMs: 300 } });
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck, headers(1)]));
    {
      using _drip = drip(connection, data(1, " ".repeat(100), 0));
      await expireTimes(3, server.port);
    }
    connection.write(data(1, volume));
    await connection.until("the volume", (bytes) => bytes.includes(answer));
  });

  test.each(["application/grpc", "application/grpc-web+proto", "application/proto"])(
    "ends a call of %s whose message does not arrive",
    async (contentType) => {
      await using server = await openTestService({ limits: { requestTimeoutMs: 200 } });
      const session = http2.connect(server.origin);
      const stream = session.request({
        ":method": "POST",
        ":path": createRpcPath,
        "content-type": contentType,
      });
      const [head] = await within("the answer", once(stream, "response"));
      expect(head[":status"]).toBe(408);
      stream.resume();
      await within(
        "the end of the stream",
        once(stream, "close").catch(() => {}),
      );
      session.destroy();
    },
  );

  test("does not count the duration of the call", async () => {
    const limits = { requestTimeoutMs: 500, idleTimeoutMs: 500 };
    await using server = await openTestService({ limits });
    using hold = server.hold();
    const session = http2.connect(server.origin);
    const response = exchangeOn(session, createRequest);
    // Idle sessions have ended by now, one after another.
    for (let i = 0; i < 3; i++) {
      using resting = await openRawConnection(server.port);
      resting.write(Buffer.concat([greeting, settingsAck]));
      await resting.untilClosed();
    }
    hold.release();
    expect((await within("the answer", response)).status).toBe(200);
    session.destroy();
  });

  test("does not count the time until somebody reads a request", async () => {
    const limits = { ...defaultLimits, requestTimeoutMs: 100, idleTimeoutMs: 200 };
    const called = Promise.withResolvers<http2.ServerHttp2Stream>();
    const serveStream = (stream: http2.ServerHttp2Stream) => {
      called.resolve(stream);
      return true;
    };
    const port = await openTestPort({ limits, serveStream });
    const session = http2.connect(`http://127.0.0.1:${port.address.port}`);
    const stream = session.request({ ":method": "POST" }).end("a");
    const served = await called.promise;
    for (let i = 0; i < 3; i++) {
      using resting = await openRawConnection(port.address.port);
      resting.write(Buffer.concat([greeting, settingsAck]));
      await resting.untilClosed();
    }
    served.respond({ ":status": 200 }, { endStream: true });
    const [head] = await within("the answer", once(stream, "response"));
    expect(head[":status"]).toBe(200);
    session.destroy();
    await port.drain(0);
  });

  test("unread answers do not harm other calls of their connection", async () => {
    const serveStream = (stream: http2.ServerHttp2Stream) => {
      stream.on("error", () => {});
      stream.respond({ ":status": 200 });
      stream.end(Buffer.alloc(2 ** 20));
      return true;
    };
    const port = await openTestPort({ serveStream });
    const session = http2.connect(`http://127.0.0.1:${port.address.port}`);
    for (let call = 0; call < 20; call++) {
      const [head] = await within("the head", once(session.request({}), "response"));
      expect(head[":status"]).toBe(200);
    }
    session.destroy();
    await port.drain(0);
  });

  test("rejects streams above its limit, without harm to the others", async () => {
    await using server = await openTestService({ limits: { streamsMax: 2 } });
    using hold = server.hold();
    using connection = await openRawConnection(server.port);
    // The settings are not acknowledged yet, so the client does not know the limit.
    connection.write(
      Buffer.concat([greeting, ...[1, 3, 5].flatMap((id) => [headers(id), data(id, volume)])]),
    );
    const received = await connection.until("a reset", (bytes) =>
      parseFrames(bytes).some(({ type }) => type === frameType.rstStream),
    );
    const reset = parseFrames(received).find(({ type }) => type === frameType.rstStream);
    expect(reset?.streamId).toBe(5);
    expect(reset?.payload.readUInt32BE()).toBe(errorCode.refusedStream);
    hold.release();
    const twoVolumes = /"title":"Emma".*"title":"Emma"/s;
    await connection.until("two volumes", (bytes) => twoVolumes.test(bytes.toString("latin1")));
  });

  test("closes a session that resets streams by the ten thousand", async () => {
    await using server = await openTestService();
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck]));
    const reset = Buffer.from([0, 0, 0, errorCode.cancel]);
    const flood = Array.from({ length: 20_000 }, (_, i) => {
      const streamId = 2 * i + 1;
      return Buffer.concat([
        headers(streamId),
        frame(frameType.rstStream, { streamId, payload: reset }),
      ]);
    });
    connection.write(Buffer.concat(flood));
    const frames = parseFrames(await connection.untilClosed());
    expect(frames.at(-1)?.type).toBe(frameType.goaway);
  });
});

describe.concurrent("a connection with endless answers", () => {
  const limits = { ...defaultLimits, requestTimeoutMs: 300, idleTimeoutMs: 300 };

  test("ends over HTTP/1.1 if its next request does not arrive completely", async ({ expect }) => {
    const port = await openTestPort({ limits });
    using connection = await openRawConnection(port.address.port);
    connection.write("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHo");
    expect((await connection.untilClosed()).toString()).toBe("");
    await port.drain(0);
  });

  test("ends over HTTP/2 if its client leaves and violates the protocol", async ({ expect }) => {
    const ended = Promise.withResolvers<void>();
    const port = await openTestPort({
      limits,
      serveStream: (stream) => {
        stream.on("error", () => {});
        stream.respond({ ":status": 200 });
        return true;
      },
      traffic: {
        opened: (socket) => socket.once("close", () => ended.resolve()),
        refused: () => {},
      },
    });
    using connection = await openRawConnection(port.address.port);
    const request = headers(1, { flags: flag.endHeaders | flag.endStream });
    const goaway = frame(frameType.goaway, { payload: Buffer.alloc(8) });
    connection.write(Buffer.concat([greeting, settingsAck, request, goaway, data(0, "x", 0)]));
    connection.end();
    await within("the end of the connection", ended.promise);
    expect(connection.received.length).toBeGreaterThan(0);
    await port.drain(0);
  });
});
