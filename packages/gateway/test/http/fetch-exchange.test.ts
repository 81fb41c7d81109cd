/** What only a runtime of fetch can show. exchanges.test.ts has what all exchanges have in common. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { BodyAlreadyReadError } from "../../src/http/body.ts";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { FetchExchange } from "../../src/http/fetch-exchange.ts";

interface Given extends RequestInit {
  readonly path?: string;
  readonly pieces?: readonly string[];
}

/** A request whose body comes in pieces, and never ends without any. */
function open({ path = "/a?b", pieces, ...init }: Given = {}) {
  const client = new AbortController();
  const body = pieces && streamOf(pieces);
  const request = new Request(`http://host:80${path}`, {
    signal: client.signal,
    ...(body && { method: "POST", body, duplex: "half" }),
    ...init,
  } as RequestInit);
  const budget = new BodyBudget();
  const exchange = new FetchExchange(request, "10.0.0.1", budget);
  const call = { abort: vi.fn() };
  exchange.call = call;
  return { request, exchange, budget, call, leave: () => client.abort() };
}

function streamOf(pieces: readonly string[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(Buffer.from(piece));
      controller.close();
    },
  });
}

function collector() {
  const pushed: string[] = [];
  const sink = {
    push: (chunk: Uint8Array) => void pushed.push(Buffer.from(chunk).toString()),
    end: () => pushed.join("|"),
  };
  return { pushed, sink };
}

const left = { code: Code.Canceled };

test("a fragment is no part of what is asked", () => {
  const { exchange } = open({ path: "/a%20b?c=d#e" });
  expect(exchange).toMatchObject({ target: "/a%20b?c=d", url: "http://host/a%20b?c=d" });
});

describe("a body", () => {
  test("is not read on when its sink fails", async () => {
    const { exchange, request } = open({ pieces: ["ab", "c"] });
    const failure = new Error("no");
    const push = vi.fn(() => {
      throw failure;
    });
    await expect(exchange.readBody({ push, end: expect.unreachable })).rejects.toBe(failure);
    expect(push).toHaveBeenCalledTimes(1);
    expect(request.body?.locked).toBe(false);
  });

  test.each<[what: string, use: (request: Request) => unknown]>([
    ["read", (request) => request.text()],
    ["locked", (request) => request.body?.getReader()],
  ])("that somebody has %s before is an error of the server", async (_what, use) => {
    const { exchange, request } = open({ pieces: ["a"] });
    await use(request);
    await expect(exchange.readBody(collector().sink)).rejects.toThrow(BodyAlreadyReadError);
  });

  test("ends with its client", async () => {
    const body = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from("a")) });
    const { exchange, leave, budget } = open({ method: "POST", body, duplex: "half" } as Given);
    const { sink, pushed } = collector();
    const read = exchange.readBody(sink);
    await expect.poll(() => pushed).toEqual(["a"]);
    leave();
    await expect(read).rejects.toMatchObject(left);
    expect(budget.heldBytes).toBe(0);
  });

  test("that cannot be read on has lost its client", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) });
    const { exchange } = open({ method: "POST", body, duplex: "half" } as Given);
    await expect(exchange.readBody(collector().sink)).rejects.toMatchObject(left);
  });
});

test.each(["before", "after"])(
  "a client that leaves %s its request is told to the call",
  async (when) => {
    const signal = AbortSignal.abort();
    const { exchange, call, leave } = open(when === "before" ? { signal } : {});
    leave();
    leave();
    expect(exchange.isClosed).toBe(true);
    expect(exchange.closeReason).toMatchObject(left);
    if (when === "after") expect(call.abort.mock.calls).toEqual([[exchange.closeReason]]);
    exchange.respond({ status: 200, header: {}, body: "late" });
    expect((await exchange.response).status).toBe(499);
    expect(exchange.error).toMatchObject(left);
    exchange.breakOff();
    expect(call.abort).toHaveBeenCalledTimes(when === "after" ? 1 : 0);
  },
);

describe("an answer", () => {
  const header = { "content-type": "text/plain", vary: "a", connection: "close" };

  test.each([
    ["whole", "", "GET"],
    ["whole", "text", "HEAD"],
    ["begun", "text", "HEAD"],
  ])("%s, of %j to %s has no body", async (how, body, method) => {
    const { exchange } = open({ method });
    if (how === "whole") exchange.respond({ status: 200, header, body });
    else {
      const writer = exchange.begin({ status: 200, header });
      expect(writer.write(Buffer.alloc(100_000))).toBeUndefined();
      writer.end({});
    }
    const response = await exchange.response;
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(response.headers.has("connection")).toBe(false);
    expect(response.body).toBeNull();
  });

  test.each([undefined, "", "b"])("in pieces has no empty one: before %j", async (last) => {
    const { exchange } = open();
    const writer = exchange.begin({ status: 200, header });
    void writer.write(Buffer.from("a"));
    writer.end(last === undefined ? {} : { body: last });
    const pieces: string[] = [];
    const { body } = await exchange.response;
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      pieces.push(Buffer.from(piece).toString());
    }
    expect(pieces).toEqual(last ? ["a", last] : ["a"]);
  });

  test("that nobody reads on ends its call", async () => {
    const { exchange, call } = open();
    const writer = exchange.begin({ status: 200, header });
    const room = writer.write(Buffer.alloc(100_000));
    await (await exchange.response).body?.cancel();
    await room;
    expect(exchange.isClosed).toBe(true);
    expect(call.abort).toHaveBeenCalledTimes(1);
    expect(writer.write(Buffer.alloc(100_000))).toBeUndefined();
    writer.end({ body: "late" });
    expect(exchange.error).toMatchObject(left);
    exchange.breakOff();
  });
});
