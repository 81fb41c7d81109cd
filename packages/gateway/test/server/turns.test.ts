/** Work that arrives all at once is served in turns. */
import type { ServerHttp2Stream } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { Turns, TurnTotal } from "../../src/server/intake.ts";
import { createRpcPath, headers, post } from "../support/create-volume.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import {
  errorCode,
  flag,
  frame,
  frameType,
  greeting,
  parseFrames,
  settingsAck,
} from "../support/raw-http2.ts";
import { openTestPort } from "../support/test-port.ts";
import { openTestService } from "../support/test-service.ts";

describe("turns", () => {
  test("serve as much as allowed at once, and the rest later, in order", async () => {
    const served: number[] = [];
    const turns = new Turns<number>(3, new TurnTotal(100), (item) => served.push(item) > 0);
    const atOnce = [1, 2, 3, 4, 5, 6, 7].map((item) => turns.take(item));
    expect(atOnce).toEqual([true, true, true, false, false, false, false]);
    expect(served).toEqual([1, 2, 3]);
    await nextTurn();
    expect(served).toEqual([1, 2, 3, 4, 5, 6]);
    expect(turns.take(8)).toBe(false);
    await nextTurn();
    expect(served).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    expect([9, 10, 11, 12].map((item) => turns.take(item))).toEqual([true, true, true, false]);
    expect(served).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  test("of many serve only a few each once enough is served of all", async () => {
    const served: string[] = [];
    const all = new TurnTotal(10);
    const [first, second] = ["first", "second"].map(
      (name) => new Turns<number>(32, all, (item) => served.push(`${name} ${item}`) > 0),
    );
    for (let item = 1; item <= 12; item++) first?.take(item);
    for (let item = 1; item <= 12; item++) second?.take(item);
    expect(served.map((text) => text.split(" ")[0])).toEqual([
      ...Array(10).fill("first"),
      ...Array(4).fill("second"),
    ]);
    await nextTurn();
    expect(served.at(-1)).toBe("second 12");
    expect(served).toHaveLength(24);
  });

  test("do not count work that is no longer needed", async () => {
    const served: number[] = [];
    const turns = new Turns<number>(
      2,
      new TurnTotal(100),
      (item) => item % 10 === 0 && served.push(item) > 0,
    );
    for (let item = 1; item <= 60; item++) turns.take(item);
    expect(served).toEqual([10, 20]);
    await nextTurn();
    expect(served).toEqual([10, 20, 30, 40]);
    await nextTurn();
    expect(served).toEqual([10, 20, 30, 40, 50, 60]);
  });
});

function requestsOf(count: number, rest: Parameters<typeof headers>[1] = {}): Buffer[] {
  const options = {
    flags: flag.endHeaders | flag.endStream,
    path: createRpcPath,
    type: "application/grpc",
    ...rest,
  };
  return Array.from({ length: count }, (_, n) => headers(2 * n + 1, options));
}

const resets = Array.from({ length: 200 }, (_, n) =>
  frame(frameType.rstStream, {
    streamId: 2 * n + 1,
    payload: Buffer.of(0, 0, 0, errorCode.cancel),
  }),
);

async function expectToServe(port: number): Promise<void> {
  using connection = await openRawConnection(port);
  connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  expect((await connection.untilClosed()).toString()).toContain("200 OK");
}

function openRawConnections(count: number, port: number): Promise<RawConnection[]> {
  return Promise.all(Array.from({ length: count }, () => openRawConnection(port)));
}

function requestGate(): void {
  throw new ConnectError("there is no token", Code.Unauthenticated);
}

const garbage = frame(frameType.data, { streamId: 0, payload: Buffer.from("x") });

describe("an HTTP/2 connection that sends 200 requests at once", () => {
  const requests = requestsOf(200);

  test("gets an answer to each", async () => {
    await using server = await openTestService({ requestGate });
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck, ...requests]));
    const endsIn = (bytes: Buffer) =>
      parseFrames(bytes).filter(({ type, flags }) => {
        return type === frameType.headers && (flags & flag.endStream) !== 0;
      });
    const received = await connection.until("200 answers", (bytes) => endsIn(bytes).length >= 200);
    const streams = endsIn(received).map(({ streamId }) => streamId);
    expect(new Set(streams).size).toBe(200);
  });

  test.each([
    ["breaks the protocol", [garbage]],
    ["takes them all back", resets],
  ])("and %s, does no harm", async (_what, last) => {
    await using server = await openTestService({ requestGate });
    using connection = await openRawConnection(server.port);
    connection.write(Buffer.concat([greeting, settingsAck, ...requests, ...last]));
    connection.end();
    await connection.untilClosed();
    await expectToServe(server.port);
  });

  test.each([
    ["breaks the protocol", garbage],
    ["takes them back", Buffer.concat(resets)],
  ])("and %s while they wait, has no more of them served", async (_what, last) => {
    let served = 0;
    const serveStream = (stream: ServerHttp2Stream) => {
      stream.on("error", () => {});
      const end = performance.now() + 2;
      while (performance.now() < end); // so that the rest waits until more has arrived
      served++;
      return true;
    };
    const port = await openTestPort({ serveStream });
    using connection = await openRawConnection(port.address.port);
    connection.write(Buffer.concat([greeting, settingsAck, ...requests]));
    await expect.poll(() => served, { interval: 1 }).toBeGreaterThan(0);
    connection.write(last);
    connection.end();
    await connection.untilClosed();
    for (let turn = 0; turn < 50; turn++) await nextTurn(); // as many as all would need, and more
    expect(served).toBeLessThan(200);
    await port.drain(0);
  });
});

test("200 requests at once that end in an empty piece of their body get an answer each", async () => {
  const port = await openTestPort({
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
  connection.write(Buffer.concat([greeting, settingsAck, ...pieces]));
  const answered = (bytes: Buffer) =>
    parseFrames(bytes).filter(({ type }) => type === frameType.headers).length;
  await connection.until("200 answers", (bytes) => answered(bytes) === 200);
  await port.drain(0);
});

test("200 requests at once that expect 100, and are cancelled, do no harm", async () => {
  await using server = await openTestService({ requestGate });
  using connection = await openRawConnection(server.port);
  const requests = requestsOf(200, { flags: flag.endHeaders, more: [["expect", "100-continue"]] });
  connection.write(Buffer.concat([greeting, settingsAck, ...requests, ...resets]));
  connection.end();
  await connection.untilClosed();
  await expectToServe(server.port);
});

test("100 connections that end at once after a rejection by the gate get an answer each", async () => {
  await using server = await openTestService({ requestGate });
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

test("100 HTTP/2 connections with an invalid first piece, and more after it, do no harm", async () => {
  let taken = 0;
  const port = await openTestPort({
    serve: (_request, response) => void response.end(),
    traffic: { opened: () => void taken++, refused: () => {} },
  });
  const connections = await openRawConnections(100, port.address.port);
  await expect.poll(() => taken, { interval: 1 }).toBe(100);
  for (const { socket } of connections) socket.setNoDelay();
  for (const piece of [Buffer.concat([greeting, garbage]), settingsAck, settingsAck]) {
    for (const connection of connections) connection.write(piece);
    await nextTurn();
  }
  for (const connection of connections) await connection.untilClosed();
  await expectToServe(port.address.port);
  await port.drain(0);
});
