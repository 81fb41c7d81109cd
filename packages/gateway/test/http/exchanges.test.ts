/** An exchange of each kind, and what its client gets: the same, whoever serves it. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http, { type ServerResponse } from "node:http";
import http2, { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import https from "node:https";
import { connect } from "node:net";
import type { Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { headerOf } from "../../src/http/exchange.ts";
import { FetchExchange } from "../../src/http/fetch-exchange.ts";
import { exchangeOf, type NodeExchange } from "../../src/http/node-exchange.ts";
import { exchangeFor } from "../../src/http/request-exchange.ts";
import { StreamExchange } from "../../src/http/stream-exchange.ts";
import { parseRequestTarget } from "../../src/http/target.ts";
import { hasOpenssl, sharedCertificate } from "../support/certificate.ts";
import { listenerOf } from "../support/fetch-listener.ts";
import { listen } from "../support/free-port.ts";
import { type HttpRequest, exchange as send } from "../support/http-exchange.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { patienceMs, within } from "../support/within.ts";

/** The answer in Node's form, which other handlers also see. */
type Answer = ServerResponse | Http2ServerResponse | http2.ServerHttp2Stream;
type Served = NodeExchange | FetchExchange;
type Serve = (exchange: Served, answer: Answer) => unknown;

interface Options {
  readonly budget?: BodyBudget;
  /** Runs before the exchange is made. */
  readonly before?: (request: { url?: string | undefined }, response: ServerResponse) => void;
}

type Listen = (serve: Serve, options: Options) => http.Server | http2.Http2Server;

const ways: Readonly<Record<string, Listen>> = {
  "HTTP/1.1": (serve, { budget, before }) =>
    http.createServer((request, response) => {
      before?.(request, response);
      serve(
        exchangeFor(request, response, parseRequestTarget(request.url ?? ""), budget),
        response,
      );
    }),
  "HTTP/2": (serve, { budget }) =>
    http2
      .createServer()
      .on("stream", (stream: http2.ServerHttp2Stream, headers, _flags, rawHeaders) => {
        const target = parseRequestTarget(headers[":path"] ?? "");
        serve(new StreamExchange(stream, headers, rawHeaders, target, budget), stream);
      }),
  fetch: (serve, { budget = new BodyBudget() }) =>
    http.createServer(
      listenerOf((request, peerAddress) => {
        const exchange = new FetchExchange(request, peerAddress, budget);
        serve(exchange, undefined as never);
        return exchange.response;
      }),
    ),
  "HTTP/2 by the compatibility API": (serve, { budget, before }) =>
    http2.createServer((request: Http2ServerRequest, response: Http2ServerResponse) => {
      before?.(request, response as unknown as ServerResponse);
      serve(
        exchangeFor(request, response, parseRequestTarget(request.url ?? ""), budget),
        response.stream,
      );
    }),
};

const isOverHttp1 = (way: string) => way === "HTTP/1.1" || way === "fetch";

/** A server that passes each exchange to a test. */
async function open(way: string, serve: Serve, options: Options = {}) {
  const server = (ways[way] as Listen)(serve, options);
  const { port, url: origin } = await listen(server);
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  onTestFinished(() => {
    server.close();
    if ("closeAllConnections" in server) server.closeAllConnections();
    for (const session of sessions) session.destroy();
  });
  const version = isOverHttp1(way) ? "1.1" : "2";
  return {
    ...{ port, origin },
    send: (request: Partial<HttpRequest> = {}) => send({ origin, version, path: "/", ...request }),
  };
}

interface Begun {
  readonly response: Promise<Readable>;
  leave(): void;
}

/** A request whose client can leave, and need not read. */
async function begin(way: string, to: string, body?: string): Promise<Begun> {
  if (isOverHttp1(way)) {
    const request = http.request(to, { method: "POST", agent: false }).on("error", () => {});
    if (body === undefined) request.end();
    else request.write(body);
    return {
      response: once(request, "response").then(([response]) => response as Readable),
      leave: () => request.destroy(),
    };
  }
  const session = http2.connect(to).on("error", () => {});
  const stream = session
    .request({ ":method": "POST", ":path": "/" }, { endStream: body === undefined })
    .on("error", () => {});
  if (body !== undefined) stream.write(body);
  onTestFinished(() => session.destroy());
  return { response: once(stream, "response").then(() => stream), leave: () => session.destroy() };
}

const left = { code: Code.Canceled };
const error = new ConnectError("no", Code.NotFound);

describe.each(Object.keys(ways))("over %s,", (way) => {
  const isHttp1 = way === "HTTP/1.1";
  const isFetch = way === "fetch";

  test("an exchange tells what is asked, and that nothing is answered", async () => {
    const seen: unknown[] = [];
    const { send, origin } = await open(way, (exchange) => {
      const { method, target, path, query, headers, url, problem } = exchange;
      const { peerAddress, isDuplex, hasTrailers } = exchange;
      const { isAnswered, status, error, hasLeft, isClosed, closeReason } = exchange;
      seen.push({ method, target, path, query, url, problem, peerAddress, isDuplex, hasTrailers });
      seen.push({ isAnswered, status, error, hasLeft, isClosed, closeReason });
      seen.push(headers["x-a"], headerOf(exchange, "x-a"), headerOf(exchange, "x-b"));
      exchange.respond({ status: 200, header: {}, body: "" });
    });
    await send({ method: "PUT", path: "/a%20b?c", headers: { "x-a": "1" } });
    expect(seen).toMatchObject([
      {
        ...{ method: "PUT", target: "/a%20b?c", path: "/a%20b", query: "c", problem: undefined },
        ...{ url: `${origin}/a%20b?c`, peerAddress: "127.0.0.1" },
        ...{ isDuplex: !isHttp1, hasTrailers: !isFetch },
      },
      {
        ...{ isAnswered: false, status: undefined, error: left, hasLeft: false },
        ...{ isClosed: false, closeReason: undefined },
      },
      ...["1", "1", null],
    ]);
  });

  test("an answer has its parts, and those that were added", async () => {
    const seen: unknown[] = [];
    const { send } = await open(way, (exchange) => {
      exchange.addHeader({ "x-a": "1" });
      exchange.addHeader({ "x-b": "2", vary: "b" });
      const header = { "content-type": "text/plain", vary: "a", trailer: "x-behind" };
      exchange.respond({ status: 201, header, body: "é", trailer: { "x-behind": "3" }, error });
      exchange.respond({ status: 200, header: {}, body: "again" });
      seen.push(exchange.isAnswered, exchange.status, exchange.error);
    });
    const { status, headers, trailers, body } = await send();
    expect([status, body.toString()]).toEqual([201, "é"]);
    const names = ["content-type", "x-a", "x-b", "vary"];
    expect(names.map((name) => headers.get(name))).toEqual(["text/plain", "1", "2", "a, b"]);
    if (!isFetch) expect(trailers.get("x-behind")).toBe("3");
    expect(seen).toEqual([true, 201, error]);
  });

  test.each([
    ["whole", "text", "HEAD"],
    ["whole", "", "POST"],
    ["in pieces", "text", "HEAD"],
  ])("an answer that is %s, of %j to %s, has no body", async (how, body, method) => {
    const { send } = await open(way, (exchange) => {
      const header = { "x-a": "1" };
      if (how === "whole") return exchange.respond({ status: 200, header, body });
      const writer = exchange.begin({ status: 200, header });
      void writer.write(Buffer.from(body));
      writer.end({ body });
    });
    const answer = await send({ method });
    expect([answer.status, answer.headers.get("x-a"), answer.body.length]).toEqual([200, "1", 0]);
  });

  test.each([
    ["and a last one", "c", { "x-behind": "1" }],
    ["and no last one", undefined, undefined],
  ])("an answer comes in pieces, %s", async (_what, body, trailer) => {
    const seen: unknown[] = [];
    const { send } = await open(way, async (exchange) => {
      exchange.addHeader({ "x-a": "1" });
      const writer = exchange.begin({ status: 200, header: { trailer: "x-behind" } });
      seen.push(exchange.isAnswered, exchange.error);
      await writer.write(Buffer.from("a"));
      await new Promise((resolve) => setImmediate(resolve));
      await writer.write(Buffer.from("b"));
      writer.end({ ...(body && { body }), ...(trailer && { trailer }), error });
      seen.push(exchange.error);
    });
    const answer = await send();
    expect(answer.body.toString()).toBe(`ab${body ?? ""}`);
    expect(answer.headers.get("x-a")).toBe("1");
    if (!isFetch) {
      expect(answer.trailers.get("x-behind")).toBe(trailer?.["x-behind"] ?? null);
    }
    expect(seen).toMatchObject([true, left, error]);
  });

  test.skipIf(isFetch)("the head of an answer in pieces does not wait for the first", async () => {
    const begun = Promise.withResolvers<ReturnType<Served["begin"]>>();
    const { origin } = await open(way, (exchange) =>
      begun.resolve(exchange.begin({ status: 200, header: {} })),
    );
    const { response } = await begin(way, origin);
    const writer = await begun.promise;
    await within("the head", response);
    writer.end({});
  });

  test("headers are in Latin-1 beside text in UTF-8", async () => {
    const header = { "x-title": "café" };
    const sized = { ...header, "content-length": 2 };
    const { send } = await open(way, (exchange) => {
      if (exchange.target === "/whole") {
        return exchange.respond({ status: 200, header: sized, body: "é" });
      }
      const writer = exchange.begin({ status: 200, header });
      void writer.write(Buffer.from("é"));
      writer.end({});
    });
    for (const path of ["/whole", "/pieces"]) {
      const { headers, body } = await send({ path });
      const title = headers.get("x-title") ?? "";
      // HTTP/2 leaves the encoding to Node.
      if (isHttp1) expect(title).toBe("café");
      expect(body.toString()).toBe("é");
    }
  });

  test.skipIf(isFetch)(
    "nothing is written faster than it is read, and what waits goes on with its client's end",
    async () => {
      const begun = Promise.withResolvers<ReturnType<Served["begin"]>>();
      const ended = Promise.withResolvers<void>();
      const { origin } = await open(way, (exchange) => {
        exchange.call = { abort: () => ended.resolve() };
        begun.resolve(exchange.begin({ status: 200, header: {} }));
      });
      const { response, leave } = await begin(way, origin);
      const writer = await begun.promise;
      (await response).pause();
      let room: Promise<void> | undefined;
      const isWaiting = async () => {
        for (;;) {
          room = writer.write(Buffer.alloc(100_000));
          const hasRoom = await Promise.race([
            room?.then(() => true) ?? true,
            new Promise((resolve) => setTimeout(resolve, 100, false)),
          ]);
          if (!hasRoom) return;
        }
      };
      await within("a full connection", isWaiting());
      (await response).resume();
      await within("room", room as Promise<void>);
      (await response).pause();
      await within("a full connection again", isWaiting());
      leave();
      await within("the end of what waits", room as Promise<void>);
      await within("the end of the exchange", ended.promise);
      expect(writer.write(Buffer.alloc(1))).toBeUndefined();
      writer.end({ body: "late" });
    },
  );

  test.each([
    ["before its answer", false, undefined],
    ["amid its answer", true, undefined],
    ["for a reason", true, error],
  ])("an exchange that is broken off %s is no success", async (_what, isBegun, reason) => {
    const exchanges: Served[] = [];
    const { send } = await open(way, (exchange) => {
      exchanges.push(exchange);
      if (isBegun) void exchange.begin({ status: 200, header: {} }).write(Buffer.from("half"));
      setImmediate(() => exchange.breakOff(reason));
    });
    if (isFetch && !isBegun) expect(await send()).toMatchObject({ status: 500 });
    else await expect(send()).rejects.toThrow(/aborted|hang up|reset|INTERNAL|closed/i);
    expect(exchanges[0]?.error).toMatchObject(reason ?? { code: Code.Internal });
  });

  test("a client that leaves ends its call and its body, and is answered no more", async () => {
    const read = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<Served>();
    const abort = vi.fn();
    const { origin } = await open(way, (exchange) => {
      exchange.call = { abort };
      const body = exchange.readBody({ push: () => void begun.resolve(exchange), end: () => {} });
      body.then(read.resolve, read.resolve);
    });
    const { leave, response } = await begin(way, origin, "a");
    response.catch(() => {});
    const exchange = await within("the body", begun.promise);
    leave();
    expect(await within("its end", read.promise)).toMatchObject(left);
    await vi.waitUntil(() => abort.mock.calls.length > 0, patienceMs);
    expect(abort.mock.calls).toEqual([[exchange.closeReason]]);
    const code = isHttp1 ? Code.Aborted : Code.Canceled; // that of its connection
    expect(exchange).toMatchObject({ isClosed: true, error: left, closeReason: { code } });
    if (!isFetch) {
      expect(exchange.call).toBeUndefined();
      await vi.waitUntil(() => exchange.peerAddress === undefined, patienceMs);
    }
    exchange.respond({ status: 200, header: {}, body: "late" });
    expect(exchange).toMatchObject({ isAnswered: false, status: undefined, error: left });
    if (isFetch) return;
    exchange.begin({ status: 200, header: {} }).end({ body: "late" });
    expect(exchange).toMatchObject({ isAnswered: false, status: undefined, error: left });
  });

  test.skipIf(isFetch)(
    "a client that shuts its side cancels its call, and may be answered",
    async () => {
      const abort = vi.fn();
      const seen: unknown[] = [];
      const { send } = await open(way, (exchange, answer) => {
        exchange.call = { abort };
        exchangeOf(answer as never)?.leave();
        seen.push(exchange.hasLeft, exchange.closeReason, exchange.isClosed);
        exchangeOf(answer as never)?.refuse({ error, status: 408 });
        exchange.respond({ status: 200, header: {}, body: "a" });
        seen.push(exchange.error, exchange.status);
      });
      expect((await send()).body.toString()).toBe("a");
      expect(seen).toMatchObject([true, left, false, left, 200]);
      expect(abort.mock.calls[0]).toMatchObject([left]);
    },
  );

  test.skipIf(isFetch)(
    "a call that the server has refused ends with that, unless it was answered",
    async () => {
      const seen: unknown[] = [];
      const { send } = await open(way, (exchange, answer) => {
        const isEarly = exchange.target === "/early";
        const refuse = () => exchangeOf(answer as never)?.refuse({ error, status: 408 });
        if (isEarly) refuse();
        exchange.respond({ status: 200, header: {}, body: "a" });
        if (!isEarly) refuse();
        seen.push(exchange.status, exchange.error);
      });
      await send({ path: "/early" });
      await send({ path: "/late" });
      expect(seen).toEqual([408, error, 200, undefined]);
    },
  );

  test.skipIf(isFetch)("a request may take as long as its call if it is kept open", async () => {
    const seen: unknown[] = [];
    const { send } = await open(way, (exchange, answer) => {
      seen.push(exchangeOf(answer as never)?.isKept);
      exchange.keepOpen();
      seen.push(exchangeOf(answer as never)?.isKept);
      exchange.respond({ status: 200, header: {}, body: "" });
    });
    await send();
    expect(seen).toEqual([false, true]);
  });

  test("what an exchange holds is given back at its end", async () => {
    const budget = new BodyBudget();
    const bytes: number[] = [];
    const exchanges: Served[] = [];
    const { send } = await open(
      way,
      async (exchange) => {
        exchanges.push(exchange);
        await exchange.readBody({ push: () => void bytes.push(budget.heldBytes), end() {} });
        bytes.push(budget.heldBytes);
        exchange.respond({ status: 200, header: {}, body: "" });
      },
      { budget },
    );
    await send({ body: "four" });
    // The request itself counts until its body is whole.
    expect(bytes).toEqual([8192, 4]);
    await vi.waitUntil(() => budget.heldBytes === 0, patienceMs);
    const [exchange] = exchanges;
    expect(exchange?.holding).toBe(exchange?.holding);
    expect(() => exchange?.holding?.add(1)).toThrow(expect.objectContaining(left));
  });

  test("a holding that is asked for after the end holds nothing", async () => {
    const budget = new BodyBudget();
    const ended = Promise.withResolvers<Served>();
    const { send } = await open(
      way,
      (exchange) => {
        exchange.call = { abort: () => ended.resolve(exchange) };
        exchange.respond({ status: 200, header: {}, body: "" });
      },
      { budget },
    );
    await send();
    const { holding } = await within("the end", ended.promise);
    expect(() => holding?.add(1)).toThrow(expect.objectContaining(left));
    expect(budget.heldBytes).toBe(0);
  });

  test("a body is read once", async () => {
    const reasons: unknown[] = [];
    const isRead = expect.objectContaining({ name: "BodyAlreadyReadError" });
    const sink = { push: () => undefined, end: () => "all" };
    const { send } = await open(way, async (exchange) => {
      reasons.push(await exchange.readBody(sink));
      reasons.push(await exchange.readBody(sink).catch((reason: unknown) => reason));
      const chunks = exchange.chunks()[Symbol.asyncIterator]();
      reasons.push(await chunks.next().catch((reason: unknown) => reason));
      exchange.respond({ status: 200, header: {}, body: "" });
    });
    await send({ body: "text" });
    expect(reasons).toEqual(["all", isRead, isRead]);
  });

  test("a body comes in pieces, and who takes no more may still answer", async () => {
    const { send } = await open(way, async (exchange) => {
      const taken: string[] = [];
      for await (const chunk of exchange.chunks()) {
        taken.push(Buffer.from(chunk).toString());
        if (exchange.target === "/first") break;
      }
      exchange.respond({ status: 200, header: {}, body: taken.join("") });
    });
    expect((await send({ body: "text" })).body.toString()).toBe("text");
    const unfinished = { path: "/first", body: "text", unfinished: true };
    expect((await send(unfinished)).body.toString()).toBe("text");
  });

  test("a body in pieces whose client leaves has no end", async () => {
    const ended = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<void>();
    const { origin } = await open(way, async (exchange) => {
      try {
        for await (const _ of exchange.chunks()) begun.resolve();
        ended.resolve("all");
      } catch (reason) {
        ended.resolve(reason);
      }
    });
    const { leave, response } = await begin(way, origin, "a");
    response.catch(() => {});
    await begun.promise;
    leave();
    expect(await within("its end", ended.promise)).toMatchObject(left);
  });
});

describe.each(Object.keys(ways).filter((way) => !isOverHttp1(way)))("over %s,", (way) => {
  test.each([
    ["", "POST", true],
    ["text", "HEAD", true],
    ["text", "POST", false],
  ])("the head of an answer of %j to %s is all of it: %j", async (body, method, isAll) => {
    const { origin } = await open(way, (exchange) =>
      exchange.respond({ status: 200, header: {}, body }),
    );
    const session = http2.connect(origin);
    const stream = session.request({ ":method": method, ":path": "/" });
    const [, flags] = await within("an answer", once(stream, "response"));
    expect((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0).toBe(isAll);
    session.destroy();
  });

  test.each(["whole", "in pieces"])("a client may stop sending after an answer %s", async (how) => {
    const push = () => {
      throw error;
    };
    const { origin } = await open(way, async (exchange) => {
      await exchange.readBody({ push, end() {} }).catch(() => {});
      if (how === "whole") return exchange.respond({ status: 200, header: {}, body: "a" });
      exchange.begin({ status: 200, header: {} }).end({ body: "a" });
    });
    const session = http2.connect(origin);
    const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
    stream.write("unfinished");
    const ended = once(stream.resume(), "close");
    await within("the end of the stream", ended);
    expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
    session.destroy();
  });
});

describe.each(["HTTP/1.1", "HTTP/2 by the compatibility API"])("over %s,", (way) => {
  test("what an earlier handler has set counts, and it can see the status", async () => {
    const responses: ServerResponse[] = [];
    const { send } = await open(
      way,
      (exchange) =>
        exchange.respond({ status: 201, header: { "x-own": "1" }, body: exchange.target }),
      {
        before(request, response) {
          request.url = "/rewritten";
          response.setHeader("x-earlier", "1");
          response.setHeader("x-own", "0");
          responses.push(response);
        },
      },
    );
    const { headers, body } = await send();
    expect([headers.get("x-earlier"), headers.get("x-own")]).toEqual(["1", "1"]);
    expect(body.toString()).toBe("/rewritten");
    expect(responses[0]?.statusCode).toBe(201);
  });
});

test("an answer over HTTP/1.0 that is broken off is reset, as its end would look like that of its body", async () => {
  const { port } = await open("HTTP/1.1", (exchange) => {
    void exchange.begin({ status: 200, header: {} }).write(Buffer.from("half"));
    setImmediate(() => exchange.breakOff());
  });
  const socket = connect(port, "127.0.0.1");
  socket.write("GET / HTTP/1.0\r\n\r\n");
  const [error] = await within("the end of the stream", once(socket.resume(), "error"));
  expect(error).toMatchObject({ code: "ECONNRESET" });
});

test.skipIf(!hasOpenssl).each(["1.0", "1.1"])(
  "an answer over TLS that is broken off is cut off, over HTTP/%s",
  async (version) => {
    const { pem, keyFile } = sharedCertificate();
    const tls = { cert: pem, key: readFileSync(keyFile) };
    const server = https.createServer(tls, (request, response) => {
      const exchange = exchangeFor(request, response, parseRequestTarget("/"));
      void exchange.begin({ status: 200, header: {} }).write(Buffer.from("half"));
      setImmediate(() => exchange.breakOff());
    });
    await using listener = await listen(server);
    const { port } = listener;
    const socket = connectTls({ port, host: "127.0.0.1", ca: pem });
    socket.on("error", () => {}).write(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    await within("the end", once(socket, "close"));
    expect(received).toContain("half");
    expect(received).not.toContain("0\r\n\r\n");
  },
);

test("calls that wait behind another end with their connection", async () => {
  const reasons: string[] = [];
  let served = 0;
  const { port } = await open("HTTP/1.1", (exchange) => {
    served++;
    exchange.call = { abort: () => reasons.push(exchange.target) };
  });
  using connection = await openRawConnection(port);
  connection.write(
    ["/1", "/2", "/3"].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(""),
  );
  await vi.waitUntil(() => served === 3, patienceMs);
  connection.socket.destroy();
  await vi.waitUntil(() => reasons.length === 3, patienceMs);
  expect(reasons.toSorted()).toEqual(["/1", "/2", "/3"]);
});
