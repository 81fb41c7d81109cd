/** Methods that answer with a stream of messages. An incomplete stream never looks complete. */
import { once } from "node:events";
import http2 from "node:http2";
import { connect } from "node:net";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { chooseStreamFormat, type StreamFormatName } from "../../src/rest/stream/stream-format.ts";
import { askCatalog, type Catalog, get, openShelves, versions } from "../support/catalog.ts";
import { jsonOf, type SentRequest, type TestGateway } from "../support/gateway.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { within } from "../support/within.ts";

const ndjson = "application/x-ndjson";
const sse = "text/event-stream";
const array = "application/json";
const end = "event: end\ndata: null\n\n";
const watch = { method: "GET", path: "/v1/shelves/a/volumes:watch" };

describe.each(versions)("server streaming over HTTP/%s:", (version) => {
  const two: Catalog = {
    async *watchVolumes(_request, { responseHeader }) {
      responseHeader.set("content-length", "1"); // it knows nothing of the format
      yield { id: 1n };
      yield { title: "b\nc" };
    },
  };
  const none: Catalog = { async *watchVolumes() {} };
  const late: Catalog = {
    async *watchVolumes() {
      yield { id: 1n };
      throw new ConnectError("late", Code.DataLoss);
    },
  };
  const secret: Catalog = {
    async *watchVolumes() {
      yield { id: 1n };
      throw new Error("secret");
    },
  };
  const torn = '{"code":15,"message":"late","details":[]}';
  const internal = '{"code":13,"message":"internal error","details":[]}';

  test.each<[what: string, accept: string, catalog: Catalog, type: string, body: string]>([
    ["two messages", ndjson, two, ndjson, '{"id":"1"}\n{"title":"b\\nc"}\n'],
    ["two messages", sse, two, sse, `data: {"id":"1"}\n\ndata: {"title":"b\\nc"}\n\n${end}`],
    ["two messages", array, two, array, '[{"id":"1"},\n{"title":"b\\nc"}]\n'],
    ["no message", sse, none, sse, end],
    ["no message", ndjson, none, ndjson, ""],
    ["no message", array, none, array, "[]\n"],
    ["a late error", ndjson, late, ndjson, `{"id":"1"}\n{"error":${torn}}\n`],
    ["a late error", sse, late, sse, `data: {"id":"1"}\n\nevent: error\ndata: ${torn}\n\n`],
    ["a late error", array, late, array, `[{"id":"1"},\n{"error":${torn}}]\n`],
    ["a late error for no one", ndjson, secret, ndjson, `{"id":"1"}\n{"error":${internal}}\n`],
  ])("%s, for %s", async (_what, accept, catalog, type, body) => {
    const request = { version, ...watch, headers: { accept } };
    const response = await askCatalog(catalog, request, { mayFail: catalog === secret });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.body.toString()).toBe(body);
  });

  test.each<[accept: string, byDefault: StreamFormatName, type: string]>([
    ["", "ndjson", ndjson],
    ["*/*", "sse", sse],
    ["text/html, */*;q=0.8", "array", array],
    ["APPLICATION/JSON; charset=utf-8", "ndjson", array],
    ["application/json;Q=0.1, text/event-stream;q=0.9", "ndjson", sse],
    ["application/json, text/event-stream", "sse", sse],
    ["application/json, text/event-stream", "array", array],
    ["application/json, text/plain, */*", "ndjson", array],
    ["application/x-ndjson;q=0, */*", "ndjson", sse],
    ["text/*", "ndjson", sse],
    ["text/*;q=0.2, application/*;q=0.1, */*;q=0", "ndjson", sse],
    ["text/*;q=0, */*;q=0.001", "sse", ndjson],
    [",;,;q=1", "ndjson", ndjson],
  ])("Accept %j, and streamFormat %s: %s", async (accept, streamFormat, type) => {
    const headers: Record<string, string> = accept === "" ? {} : { accept };
    const request = { version, ...watch, headers };
    const response = await askCatalog(two, request, { rest: { streamFormat } });
    expect(response.headers.get("content-type")).toBe(type);
  });

  test.each([ndjson, sse, array])(
    "an error before the first message has its status: %s",
    async (accept) => {
      await using gateway = await openShelves({
        // biome-ignore lint/correctness/useYield: it fails before
        async *watchVolumes() {
          throw new ConnectError("none", Code.PermissionDenied, { "x-why": "1" });
        },
      });
      const response = await gateway.send({ version, ...watch, headers: { accept } });
      expect(response.status).toBe(403);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("x-why")).toBe("1");
      const body = { code: Code.PermissionDenied, message: "none", details: [] };
      expect(jsonOf(response)).toEqual(body);
    },
  );

  test("headers arrive before the messages, trailers after them", async () => {
    await using gateway = await openShelves({
      async *watchVolumes(_request, { responseHeader, responseTrailer }) {
        responseHeader.set("x-head", "1");
        yield {};
        responseTrailer.set("x-tail", "2");
      },
    });
    const without = await gateway.send({ version, ...watch });
    expect(without.headers.get("x-head")).toBe("1");
    expect(without.trailers.get("x-tail")).toBe(version === "2" ? "2" : null);
    const response = await gateway.send({ version, ...watch, headers: { te: "trailers" } });
    expect(response.trailers.get("x-tail")).toBe("2");
  });

  test("HEAD has the headers of GET", async () => {
    const response = await askCatalog(two, { version, ...watch, method: "HEAD" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(ndjson);
    expect(response.body).toHaveLength(0);
  });

  test.each<[string, SentRequest]>([
    ["messages", watch],
    ["bytes", get("/v1/shelves/a/volumes/1:stream")],
  ])("HEAD of a stream of %s without any ends the call", async (_what, request) => {
    const over = Promise.withResolvers<void>();
    async function* quiet(_request: unknown, { signal }: HandlerContext) {
      signal.addEventListener("abort", () => over.resolve());
      await over.promise;
      yield {};
    }
    await using gateway = await openShelves({ watchVolumes: quiet, streamVolume: quiet });
    const { status } = await gateway.send({ version, ...request, method: "HEAD" });
    expect(status).toBe(200);
    await within("the end of the call", over.promise);
  });

  test("events have the id that their messages have in a field", async () => {
    const volumes: Catalog = {
      async *watchVolumes() {
        yield { id: 9007199254740993n };
        yield { title: "no id" };
      },
    };
    const events = async (eventIdField: string, catalog = volumes) => {
      const request = { version, ...watch, headers: { accept: sse } };
      const { body } = await askCatalog(catalog, request, { rest: { eventIdField } });
      return body.toString();
    };
    expect(await events("id")).toBe(
      `id: 9007199254740993\ndata: {"id":"9007199254740993"}\n\ndata: {"title":"no id"}\n\n${end}`,
    );
    expect(await events("none")).not.toContain("id: ");
    const lines: Catalog = {
      async *watchVolumes() {
        for (const title of ["a\nb", "a\rb", "a\0"]) yield { title };
      },
    };
    const plain = ["a\\nb", "a\\rb", "a\\u0000"].map((title) => `data: {"title":"${title}"}\n\n`);
    expect(await events("title", lines)).toBe(plain.join("") + end);
  });

  test("a stream of events without messages has comments, and other streams have none", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const quiet = async (accept: string) => {
      const commented = Promise.withResolvers<void>();
      await using gateway = await openShelves({
        async *watchVolumes(_, { responseHeader }) {
          responseHeader.set("cache-control", "max-age=9");
          yield { id: 1n };
          await commented.promise;
        },
      });
      const url = `${gateway.origin("1.1")}${watch.path}`;
      const response = await fetch(url, { headers: { accept } });
      let text = "";
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        const told = ["cache-control", "x-accel-buffering"].map((name) =>
          response.headers.get(name),
        );
        if (accept === sse) expect(told).toEqual(["no-store, no-transform", "no"]);
        if (accept !== sse || text.includes(":\n\n:\n\n")) commented.resolve();
        else vi.advanceTimersByTime(15_000);
      }
      return text.replace(/(:\n\n)+/, "*");
    };
    expect(await quiet(sse)).toBe(`data: {"id":"1"}\n\n*${end}`);
    expect(await quiet(ndjson)).toBe('{"id":"1"}\n');
  });

  test("int64 as number in each message", async () => {
    const { body } = await askCatalog(two, { version, ...watch }, { rest: { int64: "number" } });
    expect(body.toString()).toBe('{"id":1}\n{"title":"b\\nc"}\n');
  });
});

test("an array whose stream fails before its first item is an array", () => {
  expect(chooseStreamFormat(null, "array").error("{}", 0)).toBe('[{"error":{}}]\n');
});

/** Opens the stream and returns a function that aborts it. The answer is read, or not. */
type Open = (gateway: TestGateway, path: string) => Promise<() => void>;

const clients: readonly [version: string, open: Open][] = [
  [
    "1.1",
    async (gateway, path) => {
      const connection = await openRawConnection(gateway.port);
      connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await connection.until("the head", (bytes) => bytes.includes("\r\n\r\n"));
      connection.socket.pause();
      return () => connection.socket.resetAndDestroy();
    },
  ],
  [
    "2",
    async (gateway, path) => {
      const session = http2.connect(gateway.origin("2"));
      const stream = session.request({ ":path": path });
      stream.on("error", () => {});
      await within("the head", once(stream, "response"));
      return () => session.destroy();
    },
  ],
];

describe.each(clients)("over HTTP/%s a client", (_version, open) => {
  test("that leaves ends the call, and the implementation's generator", async () => {
    const aborted = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    await using gateway = await openShelves({
      async *watchVolumes(_request, { signal }) {
        try {
          yield { id: 1n };
          if (!signal.aborted) await once(signal, "abort");
          aborted.resolve();
          yield { id: 2n };
          yield { id: 3n };
        } finally {
          ended.resolve();
        }
      },
    });
    const leave = await open(gateway, watch.path);
    leave();
    await within("the abort", aborted.promise);
    await within("the end of the generator", ended.promise);
  });

  test("that does not read blocks the implementation", async () => {
    const total = 1000;
    const title = "a".repeat(100_000);
    const aborted = Promise.withResolvers<void>();
    let yields = 0;
    const catalog: Catalog = {
      async *watchVolumes(_request, { signal }) {
        signal.addEventListener("abort", () => aborted.resolve());
        while (yields < total) {
          yields++;
          yield { title };
        }
      },
      getVolume: () => ({}),
    };
    await using gateway = await openShelves(catalog);
    const leave = await open(gateway, watch.path);
    // Unchanged while the server has answered others many times: it waits for the client.
    for (let still = 0, last = -1; still < 20; last = yields) {
      await gateway.send({ method: "GET", path: "/v1/volumes/1" });
      still = yields === last ? still + 1 : 0;
    }
    expect(yields).toBeGreaterThan(0);
    expect(yields).toBeLessThan(total / 2);
    leave();
    await within("the abort", aborted.promise);
    expect(yields).toBeLessThan(total / 2);
  });
});

const forms = [
  { form: "NDJSON", accept: ndjson, isError: /\n\{"error":\{"code":\d+,[^\n]*\}\}\n$/ },
  { form: "SSE", accept: sse, isError: /\n\nevent: error\ndata: \{"code":[^\n]*\}\n\n$/ },
  { form: "an array", accept: array, isError: /,\n\{"error":\{"code":\d+,.*\}\}\]\n$/ },
];

/** How a stream is cut: it never looks complete. */
type Cut = "deadline" | "shutdown" | "throw";
type End = "goes on" | "ends at once" | "waits" | "throws";

interface Endless {
  readonly end: End;
  readonly signal: AbortSignal;
  /** Called once the client has some of the messages. */
  readonly onBegun: () => void;
}

/** Endless messages, until the signal aborts, or regardless of it. */
async function* endless<T>(message: T, { end, signal, onBegun }: Endless): AsyncGenerator<T> {
  for (let sent = 0; ; sent++) {
    yield message;
    if (sent === 2) onBegun();
    if (end === "throws" && sent === 2) throw new ConnectError("lost", Code.DataLoss);
    if (end === "waits" && sent === 2) await new Promise(() => {});
    if (end === "ends at once" && signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const cuts: readonly (readonly [cut: Cut, end: End])[] = [
  ["deadline", "goes on"],
  ["deadline", "ends at once"],
  ["deadline", "waits"],
  ["shutdown", "goes on"],
  ["shutdown", "ends at once"],
  ["shutdown", "waits"],
  ["throw", "throws"],
];

async function openCut(cut: Cut, end: End) {
  const shutdown = new AbortController();
  const reason = new ConnectError("the server is shutting down", Code.Unavailable);
  const onBegun = () => {
    if (cut === "shutdown") shutdown.abort(reason);
  };
  const part = { contentType: "text/plain", data: Buffer.from("part of it, ") };
  const catalog: Catalog = {
    watchVolumes: (_, { signal }) => endless({ id: 1n }, { end, signal, onBegun }),
    streamVolume: (_, { signal }) => endless(part, { end, signal, onBegun }),
  };
  const gateway = await openShelves(catalog, { mayFail: true, shutdownSignal: shutdown.signal });
  const headers: Record<string, string> = cut === "deadline" ? { "connect-timeout-ms": "500" } : {};
  return { gateway, headers };
}

test("an implementation ends at the deadline although the client reads nothing", async () => {
  const ended = Promise.withResolvers<void>();
  const catalog: Catalog = {
    async *watchVolumes() {
      try {
        for (;;) yield { title: "x".repeat(100_000) };
      } finally {
        ended.resolve();
      }
    },
  };
  await using gateway = await openShelves(catalog, { mayFail: true });
  const socket = connect(gateway.port, "127.0.0.1");
  socket.write(
    "GET /v1/shelves/a/volumes:watch HTTP/1.1\r\nHost: a\r\nConnect-Timeout-Ms: 200\r\n\r\n",
  );
  await within("the end of the implementation", ended.promise);
  socket.destroy();
});

describe.each(versions)("over HTTP/%s", (version) => {
  describe.each(cuts)("cut by %s, of an implementation that %s", (cut, end) => {
    test.concurrent.each(forms)("$form ends with an error", async ({ accept, isError }) => {
      const { gateway, headers } = await openCut(cut, end);
      await using _ = gateway;
      const path = "/v1/shelves/a/volumes:watch";
      const sent = gateway.send({ version, method: "GET", path, headers: { ...headers, accept } });
      const { status, body } = await within("the end of the stream", sent);
      expect(status).toBe(200);
      expect(body.toString()).toMatch(isError);
    });

    test.concurrent("a raw body is aborted", async () => {
      const { gateway, headers } = await openCut(cut, end);
      await using _ = gateway;
      const path = "/v1/shelves/a/volumes/1:stream";
      const sent = gateway.send({ version, method: "GET", path, headers });
      await expect(within("the end of the stream", sent)).rejects.toThrow(
        /aborted|closed|reset|INTERNAL/i,
      );
    });
  });
});
