/** Work that arrives all at once is served in turns. */
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Intake } from "../../src/server/intake.ts";
import {
  errorCode,
  flag,
  frame,
  framesIn,
  frameType,
  greeting,
  http2Bytes,
  resetFrame,
  settingsAck,
} from "../support/frames.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import { openTestPort } from "../support/test-port.ts";
import { openTestService, tokenGate } from "../support/test-service.ts";
import { createRpcPath, headers, post } from "../support/volumes.ts";

describe("turns", () => {
  /** Lines of an intake, and how many requests of each were served. */
  function openLines(count: number, serve: (request: number) => boolean = () => true) {
    const intake = new Intake<number>();
    const served = Array.from({ length: count }, () => 0);
    const lines = served.map((_, index) =>
      intake.open({} as Socket, (request) => {
        if (!serve(request)) return false;
        served[index] = (served[index] ?? 0) + 1;
        return true;
      }),
    );
    const send = (requests: number) => {
      for (const line of lines) {
        for (let request = 1; request <= requests; request++) intake.take(line, request);
      }
    };
    return { served, send };
  }

  test("serve as much as allowed at once, and the rest later, in order", async () => {
    const requests: number[] = [];
    const { served, send } = openLines(1, (request) => requests.push(request) > 0);
    send(70);
    expect(served).toEqual([32]);
    await nextTurn();
    expect(served).toEqual([64]);
    send(1);
    expect(served).toEqual([64]);
    await nextTurn();
    expect(requests).toEqual([...Array.from({ length: 70 }, (_, n) => n + 1), 1]);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    send(33);
    expect(served).toEqual([71 + 32]);
  });

  test("of many serve only a few each once enough is served of all", async () => {
    const { served, send } = openLines(6);
    send(40);
    expect(served).toEqual([32, 32, 32, 32, 4, 4]);
    await nextTurn();
    expect(served).toEqual([40, 40, 40, 40, 36, 36]);
  });

  test("of many serve at least one each that waits", async () => {
    const { served, send } = openLines(150);
    send(40);
    expect(served.at(-1)).toBe(4);
    await nextTurn();
    expect(served.at(-1)).toBe(5);
    expect(served.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(2 * 128 + 150 * 5);
  });

  test("do not count work that is no longer needed", async () => {
    const { served, send } = openLines(1, (request) => request % 10 === 0);
    send(1000);
    expect(served).toEqual([32]);
    await nextTurn();
    expect(served).toEqual([64]);
    await nextTurn();
    expect(served).toEqual([96]);
  });
});

function requestsOf(count: number, rest: Parameters<typeof headers>[1] = {}): Buffer[] {
  const flags = flag.endHeaders | flag.endStream;
  const options = { flags, path: createRpcPath, type: "application/grpc", ...rest };
  return Array.from({ length: count }, (_, n) => headers(2 * n + 1, options));
}

const resets = Array.from({ length: 200 }, (_, n) => resetFrame(2 * n + 1, errorCode.cancel));

function openRawConnections(count: number, port: number): Promise<RawConnection[]> {
  return Promise.all(Array.from({ length: count }, () => openRawConnection(port)));
}

const garbage = frame(frameType.data, { streamId: 0, payload: Buffer.from("x") });

const requests = requestsOf(200);

test.each([
  ["breaks the protocol", garbage],
  ["takes them back", Buffer.concat(resets)],
])(
  "an HTTP/2 connection that sends 200 requests, and %s while they wait, has no more served, and does no harm",
  async (_what, last) => {
    let served = 0;
    const serveStream = (stream: ServerHttp2Stream) => {
      stream.on("error", () => {});
      const end = performance.now() + 2;
      while (performance.now() < end); // so that the rest waits until more has arrived
      served++;
      return true;
    };
    await using port = await openTestPort({ serveStream });
    using connection = await openRawConnection(port.address.port);
    connection.write(http2Bytes(...requests));
    await expect.poll(() => served, { interval: 1 }).toBeGreaterThan(0);
    connection.write(last);
    connection.end();
    await connection.untilClosed();
    for (let turn = 0; turn < 50; turn++) await nextTurn(); // as many as all would need, and more
    expect(served).toBeLessThan(200);
  },
);

test("200 requests at once that end in an empty piece of their body get an answer each", async () => {
  await using port = await openTestPort({
    serve: async (request, response) => {
      for await (const _ of request);
      response.end();
    },
  });
  using connection = await openRawConnection(port.address.port);
  const pieces = requestsOf(200, { flags: flag.endHeaders }).flatMap((request, n) => [
    request,
    frame(frameType.data, { flags: flag.endStream, streamId: 2 * n + 1 }),
  ]);
  connection.write(http2Bytes(...pieces));
  await connection.until("200 answers", (bytes) => hasHeaders(bytes, 200));
});

test("100 connections that end at once after a rejection by the gate get an answer each", async () => {
  await using server = await openTestService({ requestGate: tokenGate });
  const connections = await openRawConnections(100, server.port);
  for (let turn = 0; turn < 150; turn++) await nextTurn(); // so that each has been accepted before
  for (const connection of connections) {
    connection.write(post(""));
    connection.end();
  }
  for (const connection of connections) {
    expect((await connection.untilClosed()).toString()).toContain("401 Unauthorized");
  }
});

test("of 30 connections that begin with 100 requests each, few begin in a turn; a smaller one at once", async () => {
  const begun: Set<unknown>[] = [];
  const seen = new Set<unknown>();
  let isNew = true;
  await using port = await openTestPort({
    serveStream: (stream) => {
      if (isNew) {
        begun.push(new Set());
        setImmediate(() => {
          isNew = true;
        });
      }
      isNew = false;
      if (!seen.has(stream.session)) begun.at(-1)?.add(stream.session);
      seen.add(stream.session);
      stream.respond({ ":status": 200 }, { endStream: true });
      return true;
    },
  });
  const crowd = await openRawConnections(30, port.address.port);
  using last = await openRawConnection(port.address.port);
  for (let turn = 0; turn < 100; turn++) await nextTurn(); // so that each has been accepted before
  for (const connection of crowd) connection.write(Buffer.concat([greeting, ...requestsOf(100)]));
  const body = Buffer.alloc(8000); // many bytes are not many requests
  const large = frame(frameType.data, { streamId: 1, payload: body });
  last.write(Buffer.concat([greeting, ...requestsOf(1, { flags: flag.endHeaders }), large]));
  await last.until("an answer", (bytes) => hasHeaders(bytes, 1));
  expect(seen.size).toBeLessThan(30);
  await Promise.all(
    crowd.map((one) => one.until("its answers", (bytes) => hasHeaders(bytes, 100))),
  );
  expect(seen.size).toBe(31);
  expect(Math.max(...begun.map(({ size }) => size))).toBeLessThanOrEqual(2 * 2 + 1);
});

test("a drain serves the requests of connections that have not started yet", async () => {
  await using port = await openTestPort({
    serveStream: (stream) => {
      stream.respond({ ":status": 200 }, { endStream: true });
      return true;
    },
  });
  const crowd = await openRawConnections(30, port.address.port);
  for (let turn = 0; turn < 100; turn++) await nextTurn(); // so that each has been accepted before
  for (const connection of crowd) connection.write(Buffer.concat([greeting, ...requestsOf(10)]));
  await crowd[0]?.until("its answers", (bytes) => hasHeaders(bytes, 10));
  const drained = port.drain(5000);
  await Promise.all(crowd.map((one) => one.until("its answers", (bytes) => hasHeaders(bytes, 10))));
  for (const connection of crowd) connection[Symbol.dispose]();
  await drained;
});

function hasHeaders(bytes: Buffer, count: number): boolean {
  return framesIn(bytes).filter(({ type }) => type === frameType.headers).length === count;
}

test.each([
  ["an invalid first piece", [garbage]],
  ["many requests in an invalid first piece", [...requestsOf(100), garbage]],
])("100 HTTP/2 connections with %s, and more after it, do no harm", async (_what, first) => {
  let taken = 0;
  await using port = await openTestPort({
    serve: (_request, response) => void response.end(),
    traffic: { opened: () => void taken++, refused: () => {} },
  });
  const connections = await openRawConnections(100, port.address.port);
  await expect.poll(() => taken, { interval: 1 }).toBe(100);
  for (const { socket } of connections) socket.setNoDelay();
  for (const piece of [Buffer.concat([greeting, ...first]), settingsAck, settingsAck]) {
    for (const connection of connections) connection.write(piece);
    await nextTurn();
  }
  for (const connection of connections) await connection.untilClosed();
  using last = await openRawConnection(port.address.port);
  last.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  expect((await last.untilClosed()).toString()).toContain("200 OK");
});
