/** The end of a server: no client delays it beyond the limit. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  answer,
  createPath,
  createRpcPath,
  data,
  headers,
  post,
  volume,
} from "../support/create-volume.ts";
import { envelope } from "../support/envelope.ts";
import { exchange, type HttpVersion } from "../support/http-exchange.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import {
  flag,
  frame,
  frameType,
  http2Bytes,
  parseFrames,
  preface,
  sees,
} from "../support/raw-http2.ts";
import { openTestService } from "../support/test-service.ts";
import { patienceMs, within } from "../support/within.ts";

const http1Head = post(volume).slice(0, -volume.length);

interface Row {
  readonly what: string;
  readonly bytes: Uint8Array | string;
  /** Whether the server's output shows that it has read the bytes. */
  readonly isRead?: (received: Buffer) => boolean;
  /** It owes and awaits nothing, so that a drain has no reason to wait. */
  readonly isIdle?: true;
}

/** None of these ends its side of the connection, whatever the server does. */
const clients: readonly Row[] = [
  { what: "has said nothing", bytes: "", isIdle: true },
  { what: "has said a part of the preface", bytes: preface.subarray(0, 10), isIdle: true },
  { what: "has said a part of its headers", bytes: http1Head.slice(0, 30) },
  { what: "has said a part of its body", bytes: `${http1Head}{` },
  {
    what: "rests on HTTP/1.1",
    bytes: "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    isRead: (received) => received.includes("ok"),
    isIdle: true,
  },
  {
    what: "was refused by the parser",
    bytes: "garbage\r\n\r\n",
    isRead: (received) => received.includes("400"),
  },
  { what: "has said the preface alone", bytes: preface, isRead: sees(frameType.settings) },
  {
    what: "rests on HTTP/2",
    bytes: http2Bytes(),
    isRead: sees(frameType.settings),
    isIdle: true,
  },
  {
    what: "has a stream whose body does not come",
    bytes: http2Bytes(headers(1)),
    isRead: sees(frameType.settings),
  },
  {
    what: "has a stream that was refused amid its body",
    bytes: http2Bytes(headers(1, { type: "text/plain" })),
    isRead: sees(frameType.data),
  },
];

describe("a drain ends despite a client that", () => {
  test.concurrent.each(clients)("$what", async ({ what, bytes, isRead, isIdle }) => {
    await using service = await openTestService(
      isIdle && { limits: { requestTimeoutMs: 10 * patienceMs } },
    );
    using connection = await openRawConnection(service.port);
    connection.write(bytes);
    if (isRead !== undefined) await connection.until(what, isRead);
    await within("the end of the server", service.drain(isIdle ? 10 * patienceMs : 200));
    await connection.untilClosed();
  });
});

/** The path of a message, and the answer to one that is too large. */
const faces: readonly [name: string, path: string, type: string, refusal: string][] = [
  ["REST", createPath, "application/json", `"code":${Code.ResourceExhausted}`],
  ["Connect JSON", createRpcPath, "application/json", '"resource_exhausted"'],
  ["Connect binary", createRpcPath, "application/proto", '"resource_exhausted"'],
  ["gRPC-Web", createRpcPath, "application/grpc-web+proto", "grpc-status: 8"],
  ["gRPC", createRpcPath, "application/grpc", "grpc-status: 8"],
];

const refusals = faces.flatMap(([name, path, type, refusal]) => {
  const versions: readonly HttpVersion[] = name === "gRPC" ? ["2"] : ["1.1", "2"];
  return versions.map((version) => ({ name, version, path, type, refusal }));
});

describe("a drain", () => {
  test.each(refusals)(
    "does not wait for the rest of a body rejected over $name over HTTP/$version",
    async ({ version, path, type, refusal }) => {
      await using service = await openTestService({ readMaxBytes: 1024 * 1024 });
      const message = Buffer.alloc(2 * 1024 * 1024, "x");
      const response = await exchange({
        ...{ origin: service.origin, version, path },
        headers: { "content-type": type },
        body: type.includes("grpc") ? envelope(message) : message,
      });
      const fields = [...response.headers, ...response.trailers].map((field) => field.join(": "));
      expect(`${fields.join("\n")}\n${response.body}`).toContain(refusal);
      await within("the end of the server", service.drain(10 * patienceMs));
    },
  );

  test("answers requests that were in flight when it began", async () => {
    await using service = await openTestService();
    using connection = await openRawConnection(service.port);
    const goaways = (received: Buffer) =>
      parseFrames(received).filter(({ type }) => type === frameType.goaway);
    connection.write(http2Bytes(headers(1), data(1, volume)));
    await connection.until("the first response", sees(frameType.data));
    const closed = service.drain(2000);
    const begun = parseFrames(await connection.until("a PING", sees(frameType.ping)));
    const ping = begun.find(({ type }) => type === frameType.ping);
    const ack = frame(frameType.ping, { flags: flag.ack, payload: ping?.payload ?? Buffer.of() });
    connection.write(Buffer.concat([headers(3), data(3, volume), ack]));
    const received = await connection.until("the last GOAWAY", (all) => goaways(all).length > 1);
    const [first, second] = goaways(received).map(({ payload }) => payload.toString("hex"));
    expect([first, second]).toEqual(["7fffffff00000000", "0000000300000000"]);
    const all = parseFrames(await connection.untilClosed());
    expect(
      all.filter(({ type, streamId }) => type === frameType.data && streamId === 3),
    ).not.toEqual([]);
    connection.end();
    await closed;
  });

  test("says so in the answer to a request that comes meanwhile over HTTP/1.1", async () => {
    await using service = await openTestService();
    using hold = service.hold();
    using connection = await openRawConnection(service.port);
    connection.write(post(volume));
    await hold.untilBegun();
    const closed = service.drain(2000);
    connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    hold.release();
    const received = (await connection.untilClosed()).toString();
    expect(received.match(/^connection: close/gim)).toHaveLength(1);
    await closed;
  });

  test("sends GOAWAY without an error, and then answers running calls", async () => {
    await using service = await openTestService();
    using hold = service.hold();
    using connection = await openRawConnection(service.port);
    const ping = frame(frameType.ping, { payload: Buffer.alloc(8) });
    const request = [headers(1), data(1, volume)];
    connection.write(http2Bytes(...request, ping));
    await connection.until("the answer to a ping", sees(frameType.ping));
    const closed = service.drain(2000);
    const frames = parseFrames(await connection.until("GOAWAY", sees(frameType.goaway)));
    const goaway = frames.find(({ type }) => type === frameType.goaway);
    expect(goaway?.payload.readUInt32BE(4)).toBe(0);
    hold.release();
    expect((await connection.untilClosed()).toString()).toContain(answer);
    connection.end();
    await closed;
  });
});
