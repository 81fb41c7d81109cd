import { PassThrough, Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createNodeWriter } from "../../src/http/node-exchange.ts";

const listenersOf = (to: PassThrough) => ["drain", "close"].map((name) => to.listenerCount(name));

test.each<[what: string, end: (to: PassThrough) => void]>([
  ["there is some", (to) => to.resume()],
  ["its stream closes", (to) => to.destroy()],
])("a writer that waits for room stops when %s, and listens once", async (_what, end) => {
  const to = new PassThrough({ highWaterMark: 1 });
  const writer = createNodeWriter(to, () => {});
  const before = listenersOf(to);
  const [, room] = ["ab", "cd"].map((text) => writer.write(Buffer.from(text)));
  end(to);
  await room;
  expect(listenersOf(to)).toEqual(before.map((count) => count + 1));
});

test("a writer does not wait where nothing says that there is no room, as of adapters for Lambda", () => {
  const to = Object.assign(new PassThrough(), { write: () => undefined });
  expect(createNodeWriter(to as never, () => {}).write(Buffer.from("a"))).toBeUndefined();
});

test("a writer writes what comes in one turn at once, and nothing behind the end", async () => {
  const written: number[] = [];
  const to = new Writable({ writev: (chunks, done) => done(void written.push(chunks.length)) });
  const writer = createNodeWriter(to, () => {});
  for (let turn = 0; turn < 2; turn++) {
    for (const text of ["a", "b", "c"]) void writer.write(Buffer.from(text));
    await nextTurn();
  }
  expect(written).toEqual([3, 3]);
  to.destroy();
  expect(writer.write(Buffer.from("d"))).toBeUndefined();
});

test("a writer over HTTP/2 waits behind many chunks, however small", () => {
  const writer = createNodeWriter(new Writable({ write() {} }), () => {});
  const rooms = Array.from({ length: 256 }, () => writer.write(Buffer.from("a")));
  expect(rooms.findIndex((room) => room !== undefined)).toBe(255);
});
