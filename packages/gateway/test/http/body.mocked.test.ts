import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { BodyBuffer, inPieces } from "../../src/http/body.ts";

test("appended bytes are returned, whatever the pieces, and none is changed", () => {
  // Each begins a larger buffer, as what Node reads does, into which nothing may be written.
  const piece = fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => {
    const room = new Uint8Array(64);
    room.set(bytes);
    return room.subarray(0, bytes.length);
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, fc.nat(30))), (steps) => {
      const buffer = new BodyBuffer();
      const taken: Uint8Array[] = [];
      for (const [chunk, wanted] of steps) {
        void buffer.append(chunk);
        taken.push(buffer.take(Math.min(wanted, buffer.length)));
      }
      taken.push(buffer.take(buffer.length));
      expect(Buffer.concat(taken)).toEqual(Buffer.concat(steps.map(([chunk]) => chunk)));
      for (const [{ buffer, length }] of steps) {
        expect(new Uint8Array(buffer, length).every((byte) => byte === 0)).toBe(true);
      }
    }),
  );
});

test("a single chunk is not copied", () => {
  const buffer = new BodyBuffer();
  const chunk = Buffer.from("abc");
  void buffer.append(chunk);
  expect(buffer.bytes.buffer).toBe(chunk.buffer);
});

test("a body in single bytes takes little more than twice its length, and is seldom copied", () => {
  const buffer = new BodyBuffer();
  const buffers = new Set<ArrayBufferLike>();
  for (let i = 0; i < 100_000; i++) {
    void buffer.append(Buffer.of(i));
    buffers.add(buffer.bytes.buffer);
  }
  expect(buffer.length).toBe(100_000);
  expect(buffers.size).toBeLessThan(30);
  expect(buffer.bytes.buffer.byteLength).toBeLessThan(300_000);
});

test("others have their turn amid chunks that take long, not while one is awaited", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const seen: number[] = [];
  setImmediate(() => seen.push(0));
  async function* chunks() {
    vi.advanceTimersByTime(20);
    yield* [1, 20_000, 1].map((length) => new Uint8Array(length));
  }
  for await (const { length } of inPieces(chunks())) {
    if (seen.push(length) > 1) vi.advanceTimersByTime(20);
  }
  expect(seen).toEqual([1, 16_384, 0, 3616, 1]);
  vi.useRealTimers();
  vi.stubGlobal("Deno", {});
  vi.resetModules();
  expect((await import("../../src/http/body.ts")).soon).toBe(setTimeout);
  vi.unstubAllGlobals();
});
