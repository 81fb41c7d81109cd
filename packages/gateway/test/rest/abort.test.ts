/** Calls that end before they are answered. */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { envelope } from "../support/envelope.ts";
import { jsonOf, type TestGateway } from "../support/gateway.ts";
import { createTestLibrary, openLibraryOf } from "../support/library.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { within } from "../support/within.ts";

const rpc = "/library.v1.LibraryService/GetLibrary";

/** A library whose GetLibrary ends only when its signal aborts. */
function createWaitingLibrary() {
  const entered = Promise.withResolvers<HandlerContext>();
  const left = Promise.withResolvers<unknown>();
  return {
    entered: entered.promise,
    /** The reason of the signal. */
    left: left.promise,
    async getLibrary(_request: unknown, context: HandlerContext) {
      const { signal } = context;
      entered.resolve(context);
      if (!signal.aborted) await once(signal, "abort");
      left.resolve(signal.reason);
      throw signal.reason;
    },
  };
}

interface Head extends Record<string, string> {
  ":method": string;
  ":path": string;
}

/** Sends a call. The returned function aborts it. */
type Send = (gateway: TestGateway, head: Head, body: Buffer | string) => () => void;

describe("a client that leaves", () => {
  /** The same call over REST and RPC. */
  const calls: readonly [protocol: string, head: Head, body: Buffer | string][] = [
    ["REST", { ":method": "GET", ":path": "/v1/library" }, ""],
    ["Connect", { ":method": "POST", ":path": rpc, "content-type": "application/json" }, "{}"],
    [
      "gRPC",
      { ":method": "POST", ":path": rpc, "content-type": "application/grpc+json" },
      envelope("{}"),
    ],
  ];

  const ways: readonly [what: string, send: Send][] = [
    [
      "closing its connection of HTTP/1.1",
      (gateway, { ":method": method, ":path": path, ...headers }, body) => {
        const url = `${gateway.origin("1.1")}${path}`;
        const request = http.request(url, { agent: false, method, headers });
        request.on("error", () => {});
        request.end(body);
        return () => request.destroy();
      },
    ],
    [
      "resetting its stream of HTTP/2",
      (gateway, head, body) => {
        const session = http2.connect(gateway.origin("2"));
        const stream = session.request(head);
        stream.on("error", () => {});
        stream.on("close", () => session.close());
        stream.end(body);
        return () => stream.close(http2.constants.NGHTTP2_CANCEL);
      },
    ],
    [
      "closing its session of HTTP/2",
      (gateway, head, body) => {
        const session = http2.connect(gateway.origin("2"));
        const stream = session.request(head);
        stream.on("error", () => {});
        stream.end(body);
        return () => session.destroy();
      },
    ],
  ];

  const rows = calls.flatMap(([protocol, head, body]) =>
    ways.map(([what, send]) => ({ protocol, what, head, body, send })),
  );

  test.each(rows)("$protocol, $what: its call ends, and no error is reported", async (row) => {
    const library = createWaitingLibrary();
    await using gateway = await openLibraryOf(library);
    const leave = row.send(gateway, row.head, row.body);
    await within("the call", library.entered);
    leave();
    await within("the end of the call", library.left);
    const { signal } = await library.entered;
    expect(signal.aborted).toBe(true);
    // The next call is answered, so the aborted one has done no harm.
    expect(await gateway.send({ path: "/v1/nothing" })).toMatchObject({ status: 404 });
  });

  test("in the middle of its body never reaches the implementation", async () => {
    const library = createTestLibrary();
    const ended = Promise.withResolvers<void>();
    await using gateway = await openLibraryOf(library, {
      requestGate: ({ signal }) => signal.addEventListener("abort", () => ended.resolve()),
    });
    using connection = await openRawConnection(gateway.port);
    connection.write(
      "PUT /v1/library HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    connection.socket.resetAndDestroy();
    await within("the end of the call", ended.promise);
    expect(library.calls).toEqual([]);
    expect(await gateway.send({ path: "/v1/nothing" })).toMatchObject({ status: 404 });
  });
});

describe("a server that shuts down", () => {
  test("reports to every call, and the caller gets the reason", async () => {
    const shutdown = new AbortController();
    const library = createWaitingLibrary();
    await using gateway = await openLibraryOf(library, { shutdownSignal: shutdown.signal });
    const answer = gateway.send({ method: "GET", path: "/v1/library" });
    await library.entered;
    const reason = new ConnectError("closing", Code.Unavailable, { "retry-after": "1" });
    shutdown.abort(reason);
    expect(await within("the end of the call", library.left)).toBe(reason);
    const response = await answer;
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(jsonOf(response)).toMatchObject({ code: Code.Unavailable, message: "closing" });
  });
});

describe("a signal", () => {
  test("does not change after the call was answered", async () => {
    const library = createTestLibrary();
    await using gateway = await openLibraryOf(library);
    await gateway.send({ method: "GET", path: "/v1/library" });
    expect(library.calls[0]?.context.signal.aborted).toBe(false);
  });
});
