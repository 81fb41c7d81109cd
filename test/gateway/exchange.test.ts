import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { ClientGoneError, readStream } from "../../src/gateway/exchange.ts";

const tooLarge = new Error("too large");

test("a sink that fails is told neither of the rest nor of an end", async () => {
  const source = new PassThrough();
  const push = vi.fn(() => {
    throw tooLarge;
  });
  const end = vi.fn();
  const read = readStream(source, () => false, { push, end });
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
  const read = readStream(source, () => false, { push() {}, end });
  source.write("a");
  source.destroy();
  await expect(read).rejects.toBeInstanceOf(ClientGoneError);
  expect(end).not.toHaveBeenCalled();
});

test("an exchange that is closed has no body, though its stream may end", async () => {
  const source = new PassThrough();
  source.end("a");
  const end = vi.fn();
  await expect(readStream(source, () => true, { push() {}, end })).rejects.toBeInstanceOf(
    ClientGoneError,
  );
  source.resume();
  await once(source, "end");
  expect(end).not.toHaveBeenCalled();
});

test("a body that has ended before it is read is whole", async () => {
  const source = new PassThrough();
  source.end();
  source.resume();
  await once(source, "end");
  expect(await readStream(source, () => false, { push() {}, end: () => "all" })).toBe("all");
});

test("a body whose exchange was cut off has no end, though its stream says so", async () => {
  const source = new PassThrough();
  let isClosed = false;
  const end = vi.fn();
  const read = readStream(source, () => isClosed, { push() {}, end });
  source.write("a");
  isClosed = true; // as Node has it for a stream of HTTP/2 that is reset
  source.end();
  await expect(read).rejects.toBeInstanceOf(ClientGoneError);
  expect(end).not.toHaveBeenCalled();
});
