/** HTTP/1.1 on the single port: rare but valid forms of requests. */
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import type { HandlerContext } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import type { NodeHandler } from "../../src/index.ts";
import { openCollector } from "../support/collect-garbage.ts";
import { type Http1Response, parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import { openTestPort } from "../support/test-port.ts";
import { openTestService, tokenGate } from "../support/test-service.ts";
import { useOpened } from "../support/use-opened.ts";
import { answer, createRpcPath, post as postBy, rpcVolume, volume } from "../support/volumes.ts";
import { within } from "../support/within.ts";

const authorization = "Authorization: Bearer anyone\r\n";

/** A request with a token, which distinguishes it from those of strangers. */
function post(body: string, { more = "Host: a\r\n", ...rest }: Parameters<typeof postBy>[1] = {}) {
  return postBy(body, { ...rest, more: more + authorization });
}

async function responses(connection: RawConnection, count: number): Promise<Http1Response[]> {
  const isThere = (received: Buffer) => parseHttp1Responses(received).length >= count;
  return parseHttp1Responses(await connection.until(`${count} responses`, isThere));
}

describe("an HTTP/1.1 connection", () => {
  const server = useOpened(() => openTestService({ readMaxBytes: 4096, requestGate: tokenGate }));

  test("answers pipelined requests of all protocols in order", async () => {
    using connection = await openRawConnection(server.port);
    const requests = [
      post(volume),
      post('{"id":2,"title":5}'),
      post(rpcVolume, { line: `POST ${createRpcPath} HTTP/1.1` }),
      "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
      postBy("{}"),
      post(volume),
    ];
    connection.write(requests.join(""));
    const answers = await responses(connection, 7);
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 200, 200, 404, 401, 200]);
    expect([answers[2]?.body, answers[6]?.body]).toEqual([answer, answer]);
  });

  test("answers complete requests before one with an invalid body", async () => {
    using connection = await openRawConnection(server.port);
    const head = post("").replace("Content-Length: 0", "Transfer-Encoding: chunked");
    connection.write(`${post(volume)}${head}no length\r\n`);
    expect(parseHttp1Responses(await connection.untilClosed())).toMatchObject([{ status: 200 }]);
  });

  test("sends nothing more for a request that it has answered, although it never ends", async () => {
    const limits = { requestTimeoutMs: 300 };
    await using quick = await openTestService({ requestGate: tokenGate, limits });
    using connection = await openRawConnection(quick.port);
    connection.write(post("x".repeat(100)).replace(authorization, "").slice(0, -3));
    expect(parseHttp1Responses(await connection.untilClosed())).toMatchObject([{ status: 401 }]);
  });

  test("continues after a handler stopped reading a body, with more of it waiting", async () => {
    const leave: NodeHandler = async (request, response) => {
      if (request.method === "POST") {
        const paused = once(request.socket, "pause");
        for await (const _ of request) {
          await paused;
          break;
        }
      }
      response.end();
    };
    await using port = await openTestPort({ serve: leave });
    using connection = await openRawConnection(port.address.port);
    connection.write(post("x".repeat(1_000_000)));
    await responses(connection, 1);
    connection.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(await responses(connection, 2)).toMatchObject([{ status: 200 }, { status: 200 }]);
  });

  test("reads on after an answer that ends it, and serves nothing more", async () => {
    const read = Promise.withResolvers<void>();
    const serve = vi.fn<NodeHandler>((request, response) => {
      request.once("end", read.resolve);
      response.setHeader("connection", "close");
      response.end();
    });
    await using port = await openTestPort({ serve });
    using connection = await openRawConnection(port.address.port);
    const request = post("x".repeat(100_000));
    connection.write(request.slice(0, 1000));
    await connection.untilClosed(); // for writing
    connection.write(`${request.slice(1000)}GET / HTTP/1.1\r\nHost: a\r\n\r\n`);
    await within("the rest", read.promise);
    expect(serve).toHaveBeenCalledOnce();
  });

  test.each([
    ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""],
    ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", "b"],
  ])("holds nothing of a finished request while idle: %j, %j", async (begin, rest) => {
    const collect = openCollector();
    using intervals = vi.spyOn(globalThis, "setInterval");
    let served: WeakRef<object> | undefined;
    await using port = await openTestPort({
      serve: (_request, response) => {
        served = new WeakRef(response);
        response.end("a");
      },
    });
    using connection = await openRawConnection(port.address.port);
    const isHeld = () => {
      for (const [look] of intervals.mock.calls) look();
      collect();
      return served?.deref() !== undefined;
    };
    connection.write(begin);
    await responses(connection, 1);
    isHeld(); // the server has seen it incomplete
    connection.write(rest);
    await expect.poll(isHeld).toBe(false);
  });

  test.each(["", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"])("rejects once after %j", async (before) => {
    const refused: string[] = [];
    const answer = Promise.withResolvers<void>();
    await using port = await openTestPort({
      serve: (_request, response) => void answer.promise.then(() => response.end()),
      traffic: { opened: () => {}, refused: ({ kind }) => refused.push(kind) },
    });
    using connection = await openRawConnection(port.address.port);
    connection.write(before);
    connection.socket.pause();
    for (let piece = 0; piece < 4; piece++) {
      connection.write("what is this\r\n\r\n");
      await setTimeout(5);
    }
    answer.resolve();
    connection.socket.resume();
    const status = before === "" ? 400 : 200; // which the client has read, whatever it sent
    expect(parseHttp1Responses(await connection.untilClosed())).toMatchObject([{ status }]);
    expect(refused).toEqual(["malformed"]);
  });

  test.each(["h2c", "websocket", "HTTP/2.0"])("ignores an upgrade to %s", async (protocol) => {
    using connection = await openRawConnection(server.port);
    const more = `Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n`;
    connection.write(post(volume, { more }));
    expect(await responses(connection, 1)).toMatchObject([{ status: 200 }]);
    connection.write(`POST /nowhere HTTP/1.1\r\n${more}Content-Length: 0\r\n\r\n`);
    expect((await responses(connection, 2))[1]?.headers.get("connection")).not.toBe("close");
    connection.write(postBy("{}", { more }).slice(0, -1)); // Node would lose what follows it
    expect((await responses(connection, 3))[2]?.headers.get("connection")).toBe("close");
  });

  test("ends the call of a quiet stream with the answer to HEAD, and continues", async () => {
    const over = Promise.withResolvers<void>();
    async function* watchVolumes(_request: unknown, { signal }: HandlerContext) {
      signal.addEventListener("abort", () => over.resolve());
      await over.promise;
      yield {};
    }
    await using service = await openTestService({ catalog: { watchVolumes } });
    using connection = await openRawConnection(service.port);
    connection.write("HEAD /v1/shelves/a/volumes:watch HTTP/1.1\r\nHost: a\r\n\r\n");
    connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    await connection.until("the second answer", (bytes) => bytes.includes('{"status":"ok"}'));
    await within("the end of the call", over.promise);
  });
});

test.each([
  ["garbage", "what is this\r\n\r\n"],
  ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
  ["headers that are too large", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`],
  ["half a request that never ends", "GET / HTTP/1.1\r\nHost: a\r\n"],
  ["chunks in HTTP/1.0", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["HTTP/3.0", `GET / HTTP/3.0\r\n\r\n${post(volume)}`],
])("a pending answer is sent before the rejection of %s after it", async (_what, next) => {
  const refused = Promise.withResolvers<void>();
  await using service = await openTestService({
    limits: { requestTimeoutMs: 300 },
    traffic: { opened: () => {}, refused: () => refused.resolve() },
  });
  using connection = await openRawConnection(service.port);
  using hold = service.hold();
  connection.write(post(volume) + next);
  await within("the refusal", refused.promise);
  hold.release();
  const answers = parseHttp1Responses(await connection.untilClosed());
  expect(answers).toMatchObject([{ status: 200, body: answer }]);
  expect(service.created).toHaveLength(1);
});

test.each<[what: string, request: string, status: number]>([
  ["a coding", post("").replace(/Content-Length: .*/, "Transfer-Encoding: gzip, chunked"), 501],
  ["HEAD, half a body", "HEAD /v1/volumes/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 400],
])("%s is rejected", async (_what, request, status) => {
  await using service = await openTestService();
  using connection = await openRawConnection(service.port);
  connection.write(request);
  connection.end();
  const received = (await connection.untilClosed()).toString();
  expect(received).toContain(`HTTP/1.1 ${status} `);
  expect(received.endsWith("\r\n\r\n")).toBe(request.startsWith("HEAD"));
  expect(service.created).toEqual([]);
});

test("a client that sends requests and reads no answers is cut off", async () => {
  await using service = await openTestService();
  using connection = await openRawConnection(service.port);
  using _hold = service.hold();
  connection.write(post(volume).repeat(100));
  await connection.untilClosed();
});
