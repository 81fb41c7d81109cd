/** A single port recognises the protocol of a connection by its first bytes. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BodyBudget } from "../../src/index.ts";
import { openCollector } from "../support/collect-garbage.ts";
import { greeting, preface } from "../support/frames.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import { openTestPort } from "../support/test-port.ts";
import { openTestService } from "../support/test-service.ts";
import { useOpened } from "../support/use-opened.ts";
import { answer, data, headers, post, volume } from "../support/volumes.ts";

const http1Request = post(volume);
const http2Request = Buffer.concat([greeting, headers(1), data(1, volume)]);

/**
 * Each part arrives separately: between two parts, the event loop that we share with the server
 * runs.
 */
async function writeParts(connection: RawConnection, parts: Iterable<Uint8Array>): Promise<void> {
  connection.socket.setNoDelay();
  for (const part of parts) {
    await new Promise((resolve) => connection.socket.write(part, resolve));
    for (let i = 0; i < 3; i++) await nextTurn();
  }
}

function expectVolume(connection: RawConnection): Promise<Buffer> {
  return connection.until("the volume", (received) => received.includes(answer));
}

describe("a port", () => {
  const server = useOpened(() =>
    openTestService({ limits: { requestTimeoutMs: 300, idleTimeoutMs: 5000 } }),
  );

  test.each(Array.from({ length: preface.length - 1 }, (_, i) => i + 1))(
    "accepts a preface that is split after byte %i",
    async (at) => {
      using connection = await openRawConnection(server.port);
      await writeParts(connection, [http2Request.subarray(0, at), http2Request.subarray(at)]);
      await expectVolume(connection);
    },
  );

  test.each([...["P,OST", "PO,ST", "POS,T", "P,UT", "P,ATCH", "P,ROPFIND", "P,URGE"]])(
    "treats %s, in these pieces, as HTTP/1.1",
    async (pieces) => {
      using connection = await openRawConnection(server.port);
      const rest = " /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
      await writeParts(
        connection,
        [...pieces.split(","), rest].map((part) => Buffer.from(part)),
      );
      const [response] = parseHttp1Responses(await connection.untilClosed());
      expect(response).toMatchObject({ status: 404 });
    },
  );

  test.concurrent.each([
    ["nothing", ""],
    ["P", "P"],
    ["all of the preface but a byte", preface.subarray(0, -1)],
    ["half of a request line", "POST /v1/sh"],
  ])("answers a client that sends %s and then waits with 408", async (_what, bytes) => {
    using connection = await openRawConnection(server.port);
    connection.write(bytes);
    const [response] = parseHttp1Responses(await connection.untilClosed());
    expect(response).toMatchObject({ status: 408 });
    expect(JSON.parse(response?.body ?? "")).toEqual({
      code: Code.DeadlineExceeded,
      message: "the request took too long to arrive",
      details: [],
    });
  });

  test.each([
    ["nothing", 0, ""],
    ["P", 0, "P"],
    ["half of a request line", 1, "POST /v1/sh"],
  ])("closes a client that sends %s and leaves: refuses %i requests", async (_, count, bytes) => {
    const refused: unknown[] = [];
    await using port = await openTestPort({
      traffic: { opened: () => {}, refused: (kind) => void refused.push(kind) },
    });
    using connection = await openRawConnection(port.address.port);
    connection.write(bytes);
    connection.end();
    const { length } = await connection.untilClosed();
    expect([refused.length, length > 0]).toEqual([count, count > 0]);
  });
});

test.each([
  ["HTTP/1.1", http1Request],
  ["HTTP/2", http2Request],
])("closed connections of %s are released", async (_protocol, request) => {
  const collect = openCollector();
  const opened: WeakRef<object>[] = [];
  await using port = await openTestPort({
    serve: (_request, response) => void response.end(answer),
    traffic: { opened: (socket) => void opened.push(new WeakRef(socket)), refused: () => {} },
  });
  for (let count = 0; count < 10; count++) {
    using connection = await openRawConnection(port.address.port);
    connection.write(request);
    await expectVolume(connection);
  }
  const held = () => {
    collect();
    return opened.filter((socket) => socket.deref() !== undefined).length;
  };
  expect(opened).toHaveLength(10);
  // Node itself may hold the last one, and HTTP/2 waits up to a second for its client's end.
  await expect.poll(held).toBeLessThanOrEqual(1);
});

test.each([
  ["HTTP/1.1", http1Request],
  ["HTTP/2", http2Request],
])("bodies over %s count in the budget", async (_protocol, request) => {
  await using server = await openTestService({ bodyBudget: new BodyBudget({ bytesMax: 1000 }) });
  using connection = await openRawConnection(server.port);
  connection.write(request);
  await connection.until("a refusal", (received) => received.includes("no room for more request"));
});
