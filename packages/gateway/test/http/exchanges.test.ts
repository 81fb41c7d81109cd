/** What each kind of exchange does beyond what tests of the gateway see, whoever serves it. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import http2, { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import https from "node:https";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { FetchExchange } from "../../src/http/fetch-exchange.ts";
import { exchangeOf, type NodeExchange } from "../../src/http/node-exchange.ts";
import { exchangeFor } from "../../src/http/request-exchange.ts";
import { StreamExchange } from "../../src/http/stream-exchange.ts";
import { parseRequestTarget } from "../../src/http/target.ts";
import { hasOpenssl, sharedCertificate } from "../support/certificate.ts";
import { type HttpRequest, exchange as send } from "../support/exchange.ts";
import { listenerOf } from "../support/fetch-listener.ts";
import { flag, http2Bytes } from "../support/frames.ts";
import { listen } from "../support/free-port.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { headers } from "../support/volumes.ts";
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

const targetOf = ({ url = "" }: { url?: string | undefined }) => parseRequestTarget(url);

const ways: Readonly<Record<string, Listen>> = {
  "HTTP/1.1": (serve, { budget, before }) =>
    http.createServer((request, response) => {
      before?.(request, response);
      serve(exchangeFor(request, response, targetOf(request), budget), response);
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
      serve(exchangeFor(request, response, targetOf(request), budget), response.stream);
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

const left = { code: Code.Canceled };
const error = new ConnectError("no", Code.NotFound);

describe.each(Object.keys(ways))("over %s,", (way) => {
  const isHttp1 = way === "HTTP/1.1";
  const isFetch = way === "fetch";

  test("headers are in Latin-1 beside text in UTF-8, and trailers behind it", async () => {
    const header = { "x-title": "café", trailer: "x-behind" };
    const trailer = { "x-behind": "1" };
    const { send } = await open(way, (exchange) => {
      const sized = { "x-title": "café", "content-length": 2 };
      const own = { "/whole": { header, trailer }, "/sized": { header: sized } }[exchange.target];
      if (own !== undefined) return exchange.respond({ status: 200, body: "é", ...own });
      const writer = exchange.begin({ status: 200, header });
      void writer.write(Buffer.from("é"));
      writer.end({ trailer });
    });
    for (const path of ["/whole", "/sized", "/pieces"]) {
      const { headers, trailers, body } = await send({ path });
      if (!isFetch) expect(trailers.get("x-behind")).toBe(path === "/sized" ? null : "1");
      if (isHttp1) expect(headers.get("x-title")).toBe("café"); // HTTP/2 leaves the encoding to Node
      expect(body.toString()).toBe("é");
    }
  });

  test.skipIf(isFetch)("a refused call ends with that, unless it was answered", async () => {
    const seen: unknown[] = [];
    const requests: IncomingMessage[] = [];
    const { send } = await open(way, async (exchange, answer) => {
      const chunks = exchange.chunks();
      const refuse = () => exchangeOf(answer as never)?.refuse({ error, status: 408 });
      if (exchange.target === "/early") refuse();
      else await chunks.next();
      exchange.respond({ status: 200, header: {}, body: "a" });
      if (exchange.target === "/late") refuse();
      void chunks.return(undefined);
      seen.push(exchange.status, exchange.error);
      if (isHttp1) requests.push(Reflect.get(answer, "req"));
      // Its body, which nobody read, is discarded: Deno leaves that to us.
      if (isHttp1) expect.soft(requests[0]?.readableFlowing).toBe(true);
    });
    for (const path of ["/early", "/late"]) await send({ path, body: "unread" });
    expect(seen).toEqual([408, error, 200, undefined]);
    if (isHttp1) await expect.poll(() => requests[1]?.readableFlowing).toBe(true); // the rest
  });

  test("a body that is still decompressed is left where its call is aborted", async () => {
    const { send } = await open(way, (exchange) => {
      const reason = new Error("its deadline has passed");
      const end = () => {
        setImmediate(() => exchange.stopReading(reason));
        return new Promise(() => {});
      };
      exchange.readBody({ push: () => undefined, end }).catch((error: unknown) => {
        exchange.respond({ status: 200, header: {}, body: String(error === reason) });
      });
    });
    expect((await within("the answer", send({ body: "a" }))).body.toString()).toBe("true");
  });

  test.skipIf(isFetch)("a client that has left is answered no more", async () => {
    const gone = Promise.withResolvers<Served>();
    const { port } = await open(way, (exchange) => {
      exchange.call = { abort: () => gone.resolve(exchange) };
      connection.socket.destroy();
    });
    using connection = await openRawConnection(port);
    const fields = headers(1, { flags: flag.endHeaders | flag.endStream });
    connection.write(isHttp1 ? "GET / HTTP/1.1\r\nHost: a\r\n\r\n" : http2Bytes(fields));
    const exchange = await within("its end", gone.promise);
    exchange.respond({ status: 200, header: {}, body: "late" });
    exchange.begin({ status: 200, header: {} }).end({ body: "late" });
    expect(exchange).toMatchObject({ isAnswered: false, status: undefined, error: left });
  });

  test("a request counts until its body is whole, and the body until its end", async () => {
    const budget = new BodyBudget();
    const bytes: number[] = [];
    const note = () => void bytes.push(budget.heldBytes);
    const serve: Serve = async (exchange) => {
      await exchange.readBody({ push: note, end: note });
      exchange.respond({ status: 200, header: {}, body: "" });
    };
    const { send } = await open(way, serve, { budget });
    await send({ body: "four" });
    expect(bytes).toEqual([8192, 4]);
    await vi.waitUntil(() => budget.heldBytes === 0, patienceMs);
  });

  test("a holding that is asked for after the end holds nothing", async () => {
    const budget = new BodyBudget();
    const ended = Promise.withResolvers<Served>();
    const serve: Serve = (exchange) => {
      exchange.call = { abort: () => ended.resolve(exchange) };
      exchange.respond({ status: 200, header: {}, body: "" });
    };
    const { send } = await open(way, serve, { budget });
    await send();
    const { holding } = await within("the end", ended.promise);
    expect(() => holding?.add(1)).toThrow(expect.objectContaining(left));
    expect(budget.heldBytes).toBe(0);
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

  test.each(["whole", "in pieces", "cut"])("clients may stop sending after it, %s", async (how) => {
    const push = () => Promise.reject(error);
    const { origin } = await open(way, async (exchange) => {
      await exchange.readBody({ push, end() {} }).catch(() => {});
      if (how === "whole") return exchange.respond({ status: 200, header: {}, body: "a" });
      const writer = exchange.begin({ status: 200, header: {} });
      if (how === "in pieces") return writer.end({ body: "a" });
      void writer.write(Buffer.from("a"));
      exchange.breakOff();
    });
    const session = http2.connect(origin);
    const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
    const seen = vi.fn();
    stream.on("error", seen).on("data", (chunk) => seen(String(chunk)));
    stream.write("unfinished");
    await vi.waitUntil(() => stream.destroyed, patienceMs);
    const code = how === "cut" ? constants.NGHTTP2_INTERNAL_ERROR : constants.NGHTTP2_NO_ERROR;
    expect([stream.rstCode, seen.mock.calls[0]]).toEqual([code, ["a"]]);
    session.destroy();
  });
});

describe.each(["HTTP/1.1", "HTTP/2 by the compatibility API"])("over %s,", (way) => {
  test("what an earlier handler has set counts, and it can see the status", async () => {
    const responses: ServerResponse[] = [];
    const header = { "x-own": "1", "set-cookie": "b=2" };
    const serve: Serve = (exchange) =>
      exchange.respond({ status: 201, header, body: exchange.target });
    const before: Options["before"] = (request, response) => {
      request.url = "/rewritten";
      response.setHeader("x-earlier", "1");
      response.setHeader("x-own", "0");
      response.setHeader("set-cookie", "a=1");
      responses.push(response);
    };
    const { send } = await open(way, serve, { before });
    const { headers, body } = await send();
    expect([headers.get("x-earlier"), headers.get("x-own")]).toEqual(["1", "1"]);
    expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect([`${body}`, responses[0]?.statusCode]).toEqual(["/rewritten", 201]);
  });
});

test("an answer over HTTP/1.0 that is broken off is reset, as its end would look like that of its body", async () => {
  const { port } = await open("HTTP/1.1", (exchange) => {
    void exchange.begin({ status: 200, header: {} }).write(Buffer.from("half"));
    setImmediate(() => exchange.breakOff());
  });
  const socket = connect(port, "127.0.0.1").resume();
  socket.write("GET / HTTP/1.0\r\n\r\n");
  await expect(within("its end", once(socket, "end"))).rejects.toThrow("ECONNRESET");
});

test.skipIf(!hasOpenssl).each(["1.0", "1.1"])("TLS shows a cut, HTTP/%s", async (version) => {
  const { pem, keyFile } = sharedCertificate();
  const tls = { cert: pem, key: readFileSync(keyFile) };
  const server = https.createServer(tls, (request, response) => {
    const exchange = exchangeFor(request, response, parseRequestTarget("/"));
    void exchange.begin({ status: 200, header: {} }).write(Buffer.from("half"));
    setImmediate(() => exchange.breakOff());
  });
  await using listener = await listen(server);
  const socket = connectTls({ port: listener.port, host: "127.0.0.1", ca: pem });
  socket.on("error", () => {}).write(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`);
  const seen = vi.fn();
  socket.on("data", (chunk) => seen(String(chunk)));
  await within("the end", once(socket, "close"));
  expect(seen.mock.calls.join("")).toMatch(/half(?!.*0\r\n\r\n)/s);
});

test.each(["HTTP/1.1", "fetch"])("a body whose client leaves has no end, over %s", async (way) => {
  const ended = Promise.withResolvers<unknown>();
  const { port } = await open(way, async (exchange) => {
    const chunks = exchange.chunks()[Symbol.asyncIterator]();
    await chunks.next();
    connection.socket.destroy();
    ended.resolve(chunks.next());
  });
  using connection = await openRawConnection(port);
  connection.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
  await expect(within("its end", ended.promise)).rejects.toMatchObject(left);
});

test("what is unread over HTTP/1.1 is kept in few pieces, however small its chunks", async () => {
  const digits = "0123456789";
  const { port } = await open("HTTP/1.1", async (_exchange, answer) => {
    const { req } = answer as ServerResponse;
    await vi.waitUntil(() => req.complete, patienceMs);
    expect.soft(Reflect.get(req, "_readableState").buffer.length).toBeLessThan(500);
    read.resolve(req.toArray());
  });
  const read = Promise.withResolvers<Buffer[]>();
  using connection = await openRawConnection(port);
  connection.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  connection.write(`${digits.replaceAll(/./g, "1\r\n$&\r\n").repeat(500)}0\r\n\r\n`);
  expect((await within("the body", read.promise)).join("")).toBe(digits.repeat(500));
});

test("calls that wait behind another end with their connection", async () => {
  const reasons: string[] = [];
  let served = 0;
  const { port } = await open("HTTP/1.1", (exchange) => {
    served++;
    exchange.call = { abort: () => reasons.push(exchange.target) };
  });
  using connection = await openRawConnection(port);
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  connection.write(get("/1") + get("/2") + get("/3"));
  await vi.waitUntil(() => served === 3, patienceMs);
  connection.socket.destroy();
  await expect.poll(() => reasons.toSorted()).toEqual(["/1", "/2", "/3"]);
});
