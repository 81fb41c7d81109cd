/** What is wrong with HTTP/2 itself, frame by frame: refused, and the server goes on. */
import { describe, expect, test } from "vitest";
import {
  errorCode,
  type Frame,
  frame,
  framesIn,
  frameType,
  headersFrame,
  http2Bytes,
} from "../../packages/gateway/test/support/frames.ts";
import {
  openRawConnection,
  type RawConnection,
} from "../../packages/gateway/test/support/raw-connection.ts";
import {
  answered,
  ending,
  fields,
  isEnd,
  request,
  reset,
  right,
} from "../support/malformed/http2.ts";
import { useTestServer } from "../support/use-test-server.ts";

const ping = frame(frameType.ping, { payload: Buffer.alloc(8) });

/** A call on stream 1 whose requests have not ended. */
const begun = (path: string, payload: Buffer) =>
  Buffer.concat([
    headersFrame(1, fields({ ":path": path, "content-type": "application/grpc", te: "trailers" })),
    frame(frameType.data, { streamId: 1, payload }),
  ]);

const watch = "/grpc.health.v1.Health/Watch";
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/** The frames up to the end of the first answer, or of the connection. */
async function answer(connection: RawConnection, isOver = isEnd): Promise<Frame[]> {
  const received = await connection.until("an answer", (bytes) => framesIn(bytes).some(isOver));
  return framesIn(received);
}

function bodyOf(frames: readonly Frame[], streamId: number): string {
  const data = frames.filter((one) => one.type === frameType.data && one.streamId === streamId);
  return Buffer.concat(data.map(({ payload }) => payload)).toString();
}

describe("over HTTP/2", () => {
  const server = useTestServer();

  /** A connection that has greeted. */
  async function open(): Promise<RawConnection> {
    const connection = await openRawConnection(server.port);
    connection.write(http2Bytes());
    return connection;
  }

  async function expectGoodAnswer(connection: RawConnection, streamId: number) {
    connection.write(request(right, streamId));
    const isOver = (one: Frame) => one.streamId === streamId && isEnd(one);
    expect(bodyOf(await answer(connection, isOver), streamId)).toBe('{"name":"Basil"}');
  }

  async function expectNextAnswered() {
    using next = await open();
    await expectGoodAnswer(next, 1);
  }

  test.each(answered)("answers %s with an error body, and goes on", async (_what, block, error) => {
    using connection = await open();
    connection.write(request(block));
    const body = bodyOf(await answer(connection), 1);
    expect(JSON.parse(body)).toEqual({ error, message: expect.stringMatching(/./) });
    await expectGoodAnswer(connection, 3);
  });

  test.each(reset)("resets a stream with %s, and goes on", async (_what, block) => {
    using connection = await open();
    connection.write(request(block));
    const reset = (await answer(connection)).find(({ type }) => type === frameType.rstStream);
    expect(reset?.payload.readUInt32BE()).toBe(errorCode.protocol);
    await expectGoodAnswer(connection, 3);
  });

  test.each(ending)("ends a connection with %s, and answers the next", async (_what, bytes) => {
    using connection = await open();
    connection.write(bytes);
    expect(framesIn(await connection.untilClosed()).at(-1)?.type).toBe(frameType.goaway);
    await expectNextAnswered();
  });

  test("refuses more than 100 headers", async () => {
    const more = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`h${index}`, "x"]));
    using connection = await open();
    connection.write(request(fields(more)));
    expect((await answer(connection)).map(({ type }) => type)).toContain(frameType.rstStream);
    await expectNextAnswered();
  });

  test.each([watch, reflection])("calls it no failure when a client leaves %s", async (path) => {
    const taken = frame(frameType.rstStream, { streamId: 1, payload: Buffer.alloc(4) });
    for (const end of [taken, Buffer.alloc(0)]) {
      using connection = await open();
      connection.write(Buffer.concat([begun(path, Buffer.of(0, 0, 0, 0, 9, 1)), ping]));
      await answer(connection, ({ type }) => type === frameType.ping);
      connection.write(end);
    }
    await expectNextAnswered();
    expect(server.log.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});
