/**
 * What servers do wrong or rarely in HTTP/2, as gRPC's negative interop cases have it:
 * https://github.com/grpc/grpc/blob/master/doc/negative-http2-interop-test-descriptions.md
 */
import type { Socket } from "node:net";
import { toBinary } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import {
  errorCode,
  type Frame,
  flag,
  frame,
  frameType,
  goawayFrame,
  resetFrame,
  settingsAck,
  uint32,
} from "../support/raw-http2.ts";
import { within } from "../support/within.ts";
import { answerFrames, onFrame, openTcpServer } from "./raw-server.ts";

const volume = { title: "x".repeat(271_828) };
/** It fits into the window that a client has from the start. */
const answered = { $typeName: "library.v1.Volume", name: "", title: "y".repeat(50_000) } as const;
const message = wrapEnvelope(0, toBinary(VolumeSchema, { ...answered, id: 1n }));

const setting = (id: number, value: number) => Buffer.concat([Buffer.of(0, id), uint32(value)]);

const maxConcurrentStreams = 3;
const largeWindow = setting(4, 2 ** 30);

/** Told each whole request; and each PING that is acknowledged. */
interface Script {
  requested(connection: number, streamId: number, socket: Socket): void;
  acknowledged?(): void;
}

async function openScripted(script: Script, more: Buffer = Buffer.alloc(0)) {
  const server = await openTcpServer((socket, connection) => {
    const settings = frame(frameType.settings, { payload: Buffer.concat([largeWindow, more]) });
    const window = frame(frameType.windowUpdate, { payload: uint32(2 ** 30) });
    socket.write(Buffer.concat([settings, settingsAck, window]));
    onFrame(socket, (one) => {
      if (isAcknowledged(one)) script.acknowledged?.();
      else if (isEnd(one)) script.requested(connection, one.streamId, socket);
    });
  });
  return { ...server, call: () => within("an answer", server.catalog.createVolume({ volume })) };
}

const isAcknowledged = ({ type, flags }: Frame) => type === frameType.ping && flags === flag.ack;
const isEnd = ({ type, flags }: Frame) =>
  (type === frameType.data || type === frameType.headers) && (flags & flag.endStream) !== 0;

/** A whole answer, frame by frame. */
function framesOf(streamId: number): readonly Buffer[] {
  const starts = [0, 1, 2, 3].map((part) => part * 16_384);
  return answerFrames(
    streamId,
    starts.map((at) => message.subarray(at, at + 16_384)),
  );
}

test("goaway: the next call goes out on another connection", async () => {
  await using scripted = await openScripted({
    requested(_, streamId, socket) {
      socket.write(Buffer.concat([...framesOf(streamId), goawayFrame(streamId)]));
    },
  });
  expect(await scripted.call()).toMatchObject({ id: 1n });
  expect(await scripted.call()).toMatchObject({ id: 1n });
  expect(scripted.sockets.length).toBe(2);
});

test.each([
  ["rst_after_header", 1],
  ["rst_during_data", 3],
  ["rst_after_data", -1],
])("%s: the call fails, and the connection stays", async (_, count) => {
  let calls = 0;
  await using scripted = await openScripted({
    requested(_, streamId, socket) {
      const reset = resetFrame(streamId, errorCode.noError);
      const frames = framesOf(streamId);
      socket.write(Buffer.concat(++calls > 1 ? frames : [...frames.slice(0, count), reset]));
    },
  });
  await expect(scripted.call()).rejects.toMatchObject({
    rawMessage: "the answer ended without a gRPC status",
  });
  expect(await scripted.call()).toMatchObject({ id: 1n });
  expect([calls, scripted.sockets.length]).toEqual([2, 1]);
});

test("an answer that is lost with its connection is no answer without a message", async () => {
  await using scripted = await openScripted({
    requested(_, streamId, socket) {
      socket.write(Buffer.concat([...framesOf(streamId), Buffer.alloc(64, 0xa5)]));
    },
  });
  const outcome = await scripted.call().catch((error: ConnectError) => error.code);
  expect([Code.Unavailable, answered.title]).toContain(
    typeof outcome === "number" ? outcome : outcome.title,
  );
});

test("ping: each between frames is acknowledged, and the call goes well", async () => {
  let sent = 0;
  let acknowledged = 0;
  await using scripted = await openScripted({
    requested(_, streamId, socket) {
      const ping = frame(frameType.ping, { payload: Buffer.alloc(8) });
      for (const one of framesOf(streamId)) {
        socket.write(Buffer.concat([ping, one]));
        sent++;
      }
    },
    acknowledged: () => void acknowledged++,
  });
  expect(await scripted.call()).toMatchObject({ id: 1n });
  await expect.poll(() => acknowledged).toBe(sent);
});

test("max_streams: no connection has more than its server takes", async () => {
  const open = new Map<number, number>();
  let most = 0;
  await using scripted = await openScripted(
    {
      requested(connection, streamId, socket) {
        const count = (open.get(connection) ?? 0) + 1;
        open.set(connection, count);
        most = Math.max(most, count);
        setTimeout(() => {
          open.set(connection, 0);
          socket.write(Buffer.concat(framesOf(streamId)));
        }, 5);
      },
    },
    setting(maxConcurrentStreams, 1),
  );
  await Promise.all(Array.from({ length: 40 }, scripted.call));
  expect(most).toBe(1);
  expect(scripted.sockets.length).toBeLessThanOrEqual(16);
});
