import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { ClientGoneError, NodeExchange } from "../../src/exchange/node-exchange.ts";

/** Over when its source is, or earlier. */
class SourceExchange extends NodeExchange {
  isClosed = false;
  readonly closeReason = new Error("the reason");
  readonly source: PassThrough;

  constructor(source: PassThrough) {
    super("http://localhost");
    this.source = source;
    source.on("close", () => this.close());
  }
}

const tooLarge = new Error("too large");

test("a sink that fails is told neither of the rest nor of an end", async () => {
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

test("a body that closes before its end has none", async () => {
  const source = new PassThrough();
  const end = vi.fn();
  const read = new SourceExchange(source).readBody({ push() {}, end });
  source.write("a");
  source.destroy();
  await expect(read).rejects.toBeInstanceOf(ClientGoneError);
  expect(end).not.toHaveBeenCalled();
});

test("an exchange that is closed has no body, though its stream may end", async () => {
  const source = new PassThrough();
  source.end("a");
  const end = vi.fn();
  const exchange = new SourceExchange(source);
  exchange.isClosed = true;
  await expect(exchange.readBody({ push() {}, end })).rejects.toBeInstanceOf(ClientGoneError);
  source.resume();
  await once(source, "end");
  expect(end).not.toHaveBeenCalled();
});

test("a body that has ended before it is read is whole", async () => {
  const source = new PassThrough();
  source.end();
  source.resume();
  await once(source, "end");
  expect(await new SourceExchange(source).readBody({ push() {}, end: () => "all" })).toBe("all");
});

test("a body whose exchange was cut off has no end, though its stream says so", async () => {
  const source = new PassThrough();
  const exchange = new SourceExchange(source);
  const end = vi.fn();
  const read = exchange.readBody({ push() {}, end });
  source.write("a");
  exchange.isClosed = true; // as Node has it for a stream of HTTP/2 that is reset
  source.end();
  await expect(read).rejects.toBeInstanceOf(ClientGoneError);
  expect(end).not.toHaveBeenCalled();
});

test("the call of an exchange that is over is aborted, once, with its reason", async () => {
  const source = new PassThrough();
  const exchange = new SourceExchange(source);
  const abort = vi.fn();
  exchange.call = { abort };
  source.destroy();
  await once(source, "close");
  expect(abort.mock.calls).toEqual([[exchange.closeReason]]);
  expect(exchange.call).toBeUndefined();
});
