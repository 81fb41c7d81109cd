/**
 * The limit on all connections: those that have sent no complete request make room for a newcomer.
 */
import { describe, expect, test } from "vitest";
import type { ServeOptions } from "../../src/server/index.ts";
import { hasOpenssl, sharedCertificate } from "../support/certificate.ts";
import { flag, frame, frameType, greeting, http2Bytes, sees } from "../support/frames.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import { openTestService, type TestService } from "../support/test-service.ts";
import { createRpcPath, data, headers, post, rpcVolume, volume } from "../support/volumes.ts";
import { within } from "../support/within.ts";

const half = post(volume).slice(0, -1);

async function expectServed(connection: RawConnection): Promise<void> {
  connection.write(post(volume));
  await connection.until("an answer", (received) => received.includes('"title":"Emma"'));
}

function openFull(connectionsMax: number, more: Partial<ServeOptions> = {}): Promise<TestService> {
  return openTestService({ ...more, limits: { connectionsMax } });
}

const silent: readonly [what: string, sent: string | Buffer][] = [
  ["nothing", ""],
  ["half a request", half],
  ["headers that do not end", "POST / HTTP/1.1\r\nHost: a\r\nX: "],
  ["the beginning of HTTP/2", greeting],
  ["half a request of HTTP/2", http2Bytes(headers(1), data(1, "{", 0))],
];

describe("at the maximum number of connections", () => {
  test.each(silent)("a client that has sent %s makes room", async (_what, sent) => {
    await using server = await openFull(2);
    using first = await openRawConnection(server.port);
    first.write(sent);
    using second = await openRawConnection(server.port);
    await expectServed(second);
    using third = await openRawConnection(server.port);
    await expectServed(third);
    await first.untilClosed();
    await expectServed(second);
  });

  test("the oldest of them goes first, and no more than necessary", async () => {
    await using server = await openFull(3);
    using stack = new DisposableStack();
    const opened: RawConnection[] = [];
    for (let i = 0; i < 3; i++) opened.push(stack.use(await openRawConnection(server.port)));
    const [first, second, third] = opened;
    using fourth = await openRawConnection(server.port);
    await expectServed(fourth);
    await first?.untilClosed();
    using fifth = await openRawConnection(server.port);
    await expectServed(fifth);
    await second?.untilClosed();
    if (third !== undefined) await expectServed(third);
    await expectServed(fourth);
  });

  test("a newcomer is rejected if no connection can make room", async () => {
    await using server = await openFull(5);
    using others = new DisposableStack();
    for (let i = 0; i < 3; i++) {
      await expectServed(others.use(await openRawConnection(server.port)));
    }
    using first = await openRawConnection(server.port);
    using second = await openRawConnection(server.port);
    await expectServed(first);
    await expectServed(second);
    for (let i = 0; i < 3; i++) {
      using another = await openRawConnection(server.port);
      expect(await another.untilClosed()).toHaveLength(0);
    }
    await expectServed(first);
    second.end();
    await second.untilClosed();
    using next = await openRawConnection(server.port);
    await expectServed(next);
  });

  const running: readonly [what: string, sent: Buffer][] = [
    ["REST over HTTP/1.1", Buffer.from(post(volume))],
    ["Connect", Buffer.from(post(rpcVolume, { line: `POST ${createRpcPath} HTTP/1.1` }))],
    ["HTTP/2", http2Bytes(headers(1), data(1, volume))],
  ];

  test.each(running)("a client that leaves amid a call makes room, over %s", async (_, sent) => {
    const cancelled = Promise.withResolvers<void>();
    const volumes = [new Promise<never>(() => {})];
    await using server = await openTestService({
      limits: { connectionsMax: 1 },
      catalog: {
        createVolume({ volume = {} }, { signal }) {
          signal.addEventListener("abort", () => cancelled.resolve());
          return volumes.pop() ?? volume;
        },
      },
    });
    using first = await openRawConnection(server.port);
    first.socket.end(sent);
    await within("the cancellation", cancelled.promise);
    using second = await openRawConnection(server.port);
    await expectServed(second);
    await first.untilClosed();
  });

  test.each(running)("a running call stays, over %s", async (_what, sent) => {
    await using server = await openFull(1);
    using held = server.hold();
    using first = await openRawConnection(server.port);
    first.write(sent);
    await held.untilBegun();
    using second = await openRawConnection(server.port);
    expect(await second.untilClosed()).toHaveLength(0);
    held.release();
    await first.until("the answer", (received) => received.includes('"title":"Emma"'));
  });

  test.each<[what: string, sent: string | Buffer, isAnswered: (received: Buffer) => boolean]>([
    [
      "a request that is refused by its headers",
      `POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n`,
      (received) => received.includes(" 404 "),
    ],
    [
      "one over HTTP/2",
      http2Bytes(headers(1, { path: "/nowhere" })),
      (received) => sees(frameType.data)(received) || sees(frameType.rstStream)(received),
    ],
    [
      "one over HTTP/2 without a body",
      http2Bytes(headers(1, { flags: flag.endHeaders | flag.endStream })),
      sees(frameType.headers),
    ],
  ])("an answered client stays: %s", async (_what, sent, isAnswered) => {
    await using server = await openFull(1);
    using first = await openRawConnection(server.port);
    first.write(sent);
    await first.until("an answer", isAnswered);
    // An answer is complete when its end has been sent; this comes after it.
    if (typeof sent !== "string") {
      first.write(frame(frameType.ping, { payload: Buffer.alloc(8) }));
      await first.until("a ping", sees(frameType.ping));
    }
    await expect
      .poll(async () => {
        using second = await openRawConnection(server.port);
        await second.untilClosed();
        return second.received.length;
      })
      .toBe(0);
    expect(first.socket.readableEnded).toBe(false);
  });

  test.skipIf(!hasOpenssl)("a TLS handshake in progress makes room, too", async () => {
    await using server = await openFull(2, { tls: sharedCertificate() });
    const shake = () => openRawConnection(server.port, { tls: {} });
    using first = await openRawConnection(server.port);
    using second = await shake();
    await expectServed(second);
    using third = await shake();
    await expectServed(third);
    await first.untilClosed();
    await expectServed(second);
    using fourth = await openRawConnection(server.port);
    expect(await fourth.untilClosed()).toHaveLength(0);
  });
});
