/** The end of a server: no client holds it up for longer than the limit says. */

import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import {
  fieldBlock,
  flag,
  frame,
  frameType,
  greeting,
  parseFrames,
  preface,
  settingsAck,
} from "../../../packages/gateway/test/support/raw-http2.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import { refusalOf } from "../../support/protocol/protocol.ts";
import { rawProtocols } from "../../support/protocol/raw.ts";
import { knownToken, openTestServer } from "../../support/test-server.ts";

const authorization = `Bearer ${knownToken}`;

function headersOf(contentType: string): Buffer {
  const payload = fieldBlock([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", "/plants"],
    [":authority", "a"],
    ["authorization", authorization],
    ["content-type", contentType],
  ]);
  return frame(frameType.headers, { flags: flag.endHeaders, streamId: 1, payload });
}

const http1Head =
  `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n` +
  "Content-Type: application/json\r\nContent-Length: 23\r\n\r\n";

const sees =
  (type: number) =>
  (received: Buffer): boolean =>
    parseFrames(received).some((one) => one.type === type);

interface Row {
  readonly what: string;
  readonly bytes: Uint8Array | string;
  /** What the server has sent when it has read the bytes. */
  readonly isRead?: (received: Buffer) => boolean;
}

/** None of these ends its side of the connection, whatever the server does. */
const clients: readonly Row[] = [
  { what: "has said nothing", bytes: "" },
  { what: "has said a part of the preface", bytes: preface.subarray(0, 10) },
  { what: "has said a part of its headers", bytes: http1Head.slice(0, 30) },
  { what: "has said a part of its body", bytes: `${http1Head}{` },
  {
    what: "rests on HTTP/1.1",
    bytes: "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    isRead: (received) => received.includes("ok"),
  },
  {
    what: "was refused by the parser",
    bytes: "garbage\r\n\r\n",
    isRead: (received) => received.includes("400"),
  },
  {
    what: "has said the preface alone",
    bytes: preface,
    isRead: sees(frameType.settings),
  },
  {
    what: "rests on HTTP/2",
    bytes: Buffer.concat([greeting, settingsAck]),
    isRead: sees(frameType.settings),
  },
  {
    what: "has a stream whose body does not come",
    bytes: Buffer.concat([greeting, settingsAck, headersOf("application/json")]),
    isRead: sees(frameType.settings),
  },
  {
    what: "has a stream that was refused amid its body",
    bytes: Buffer.concat([greeting, settingsAck, headersOf("text/plain")]),
    isRead: sees(frameType.data),
  },
];

describe("a drain has its end with a client that", () => {
  test.concurrent.each(clients)("$what", async ({ what, bytes, isRead }) => {
    await using server = await openTestServer({ drainTimeoutMs: 200 });
    using connection = await openRawConnection(server.port);
    connection.write(bytes);
    if (isRead !== undefined) await connection.until(what, isRead);
    await within("the end of the server", server.running.close(), 2000);
    await connection.untilClosed();
  });
});

describe("a drain", () => {
  test.each(rawProtocols)(
    "does not wait for the rest of a body refused over $name",
    async (raw) => {
      await using server = await openTestServer({ drainTimeoutMs: 5000 });
      const message = raw.encode({ id: 1n, name: "x".repeat(2 * 1024 * 1024) });
      const refusal = refusalOf(await raw.send(server.url, message));
      expect(refusal.code).toBe(Code.ResourceExhausted);
      await within("the end of the server", server.running.close(), 2000);
    },
  );

  test("sends GOAWAY without error, and then answers what is under way", async () => {
    await using server = await openTestServer();
    using lock = lockStore(server.database);
    using connection = await openRawConnection(server.port);
    const payload = Buffer.from('{"id":1,"name":"Basil"}');
    const data = frame(frameType.data, { flags: flag.endStream, streamId: 1, payload });
    const ping = frame(frameType.ping, { payload: Buffer.alloc(8) });
    const request = headersOf("application/json");
    connection.write(Buffer.concat([greeting, settingsAck, request, data, ping]));
    await connection.until("the answer to a ping", sees(frameType.ping));
    const closed = server.close();
    const frames = parseFrames(await connection.until("GOAWAY", sees(frameType.goaway)));
    const goaway = frames.find(({ type }) => type === frameType.goaway);
    expect(goaway?.payload.readUInt32BE(4)).toBe(0);
    lock.release();
    expect((await connection.untilClosed()).toString()).toContain('{"name":"Basil"}');
    connection.end();
    await closed;
  });

  test("is the same for all who ask for it", async () => {
    await using server = await openTestServer();
    const first = server.running.close();
    expect(server.running.close()).toBe(first);
    await first;
  });
});
