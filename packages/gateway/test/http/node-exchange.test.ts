import { once } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code, type ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { createNodeWriter, NodeExchange } from "../../src/http/node-exchange.ts";
import { continueWhenRead } from "../../src/http/request-exchange.ts";

/** Ends with its source, or earlier. */
class SourceExchange extends NodeExchange {
  peerAddress = undefined;
  isAnswered = false;
  sentStatus = undefined;
  isClosed = false;
  readonly closeError = new Error("the reason");
  declare readonly answer: PassThrough;

  constructor(source: PassThrough, budget?: BodyBudget) {
    super(source, new PassThrough(), budget);
    this.headers = {};
    this.hasBody = true;
    source.on("close", () => this.close());
  }

  begin(): never {
    throw new Error("never begun");
  }

  respond(): void {}
  breakOff(): void {}
}

const tooLarge = new Error("too large");

test("a sink that fails gets neither the rest nor an end", async () => {
  const source = new PassThrough();
  const push = vi.fn(() => {
    throw tooLarge;
  });
  const end = vi.fn();
  const read = new SourceExchange(source).readBody({ push, end });
  const ended = once(source, "close");
  source.write("a");
  await expect(read).rejects.toBe(tooLarge);
  source.end("b");
  await ended;
  expect(push).toHaveBeenCalledTimes(1);
  expect(end).not.toHaveBeenCalled();
});

test("a body that ended before it is read is complete", async () => {
  const source = new PassThrough();
  source.end();
  source.resume();
  await once(source, "end");
  expect(await new SourceExchange(source).readBody({ push() {}, end: () => "all" })).toBe("all");
});

test.each([
  ["before it is read", true],
  ["amid it", false],
])(
  "a body whose exchange is closed %s has no end, even if its stream says so",
  async (_when, isBefore) => {
    const source = new PassThrough();
    const exchange = new SourceExchange(source);
    const end = vi.fn();
    exchange.isClosed = isBefore;
    const read = expect(exchange.readBody({ push() {}, end })).rejects.toMatchObject({
      code: Code.Canceled,
    });
    source.write("a");
    exchange.isClosed = true; // as Node does for an HTTP/2 stream that is reset
    source.end();
    await read;
    expect(end).not.toHaveBeenCalled();
  },
);

test.each([true, false])(
  "a body waits for room for its request, which comes: %s",
  async (comes) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const budget = new BodyBudget({ bytesMax: 29_000 });
    const older = budget.hold({ peerAddress: undefined, headers: {} });
    void older.add(8000);
    const source = new PassThrough();
    source.end("a");
    const body = new SourceExchange(source, budget).readBody({ push() {}, end: () => "all" });
    const outcome = body.catch(({ code }: ConnectError) => code);
    expect(budget.waiting).toBe(1);
    if (comes) older.release();
    await vi.advanceTimersByTimeAsync(3000);
    expect(await outcome).toBe(comes ? "all" : Code.Unavailable);
  },
);

test("a body is read on when its sink has room, and no more when that fails", async () => {
  const source = new PassThrough();
  const rooms = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let pushed = 0;
  const push = () => rooms[pushed++]?.promise;
  const read = new SourceExchange(source).readBody({ push, end: () => expect.unreachable() });
  for (const text of ["a", "b", "c"]) source.write(text);
  await nextTurn();
  expect(pushed).toBe(1);
  rooms[0]?.resolve();
  await nextTurn();
  expect(pushed).toBe(2);
  rooms[1]?.reject(tooLarge);
  await expect(read).rejects.toBe(tooLarge);
  source.end();
  await once(source, "end");
  expect(pushed).toBe(2);
});

describe("a writer that waits for room", () => {
  const listenersOf = (to: PassThrough) => ["drain", "close"].map((name) => to.listenerCount(name));

  test.each<[what: string, end: (to: PassThrough) => void]>([
    ["there is some", (to) => to.resume()],
    ["its stream closes", (to) => to.destroy()],
  ])("stops when %s, and leaves no listener", async (_what, end) => {
    const to = new PassThrough({ highWaterMark: 1 });
    const writer = createNodeWriter(to, () => {});
    const before = listenersOf(to);
    const room = writer.write(Buffer.from("ab"));
    end(to);
    await room;
    expect(listenersOf(to)).toEqual(before);
  });

  test("writes what comes in one turn at once, and nothing behind the end", async () => {
    const to = new PassThrough();
    const written: string[] = [];
    to.on("data", (chunk) => written.push(`${chunk}`));
    const corked: number[] = [];
    const writer = createNodeWriter(to, () => corked.push(to.writableCorked));
    void writer.write(Buffer.from("a"));
    void writer.write(Buffer.from("b"));
    corked.push(to.writableCorked);
    await nextTurn();
    corked.push(to.writableCorked);
    void writer.write(Buffer.from("c"));
    corked.push(to.writableCorked);
    writer.end({});
    await nextTurn();
    expect(written.join("")).toBe("abc");
    expect(corked).toEqual([1, 0, 1, 0]);
    to.destroy();
    expect(writer.write(Buffer.from("d"))).toBeUndefined();
  });
});

test.each<[what: string, response: object, asked: number]>([
  ["over HTTP/1.1", { headersSent: false }, 1],
  ["over HTTP/2", { headersSent: false, stream: { destroyed: false, closed: false } }, 1],
  ["unless it is answered", { headersSent: true }, 0],
  [
    "unless its stream is destroyed",
    { headersSent: false, stream: { destroyed: true, closed: false } },
    0,
  ],
  [
    "unless its stream is closed",
    { headersSent: false, stream: { destroyed: false, closed: true } },
    0,
  ],
])("a body is asked for once, when it is first read, %s", (_what, given, asked) => {
  const read = vi.fn();
  const request = { _read: read } as unknown as Parameters<typeof continueWhenRead>[0];
  const writeContinue = vi.fn();
  const response = { ...given, writeContinue };
  continueWhenRead(request, response as unknown as Parameters<typeof continueWhenRead>[1]);
  expect(writeContinue).not.toHaveBeenCalled();
  for (const size of [1, 2]) request._read(size);
  expect(writeContinue).toHaveBeenCalledTimes(asked);
  expect(read.mock.calls).toEqual([[1], [2]]);
});
