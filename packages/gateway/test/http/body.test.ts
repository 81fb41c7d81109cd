import fc from "fast-check";
import { expect, test } from "vitest";
import { BodyBuffer } from "../../src/http/body.ts";

test("appended bytes are returned, whatever the pieces", () => {
  const piece = fc.uint8Array({ minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, fc.nat(30))), (steps) => {
      const buffer = new BodyBuffer();
      const taken: Uint8Array[] = [];
      for (const [chunk, wanted] of steps) {
        buffer.append(chunk);
        taken.push(buffer.take(Math.min(wanted, buffer.length)));
      }
      taken.push(buffer.take(buffer.length));
      const all = Buffer.concat(steps.map(([chunk]) => chunk));
      expect(Buffer.concat(taken)).toEqual(all);
    }),
  );
});

test("a single chunk is not copied", () => {
  const buffer = new BodyBuffer();
  const chunk = Buffer.from("abc");
  buffer.append(chunk);
  expect(buffer.bytes.buffer).toBe(chunk.buffer);
});

test("a body in single bytes takes little more than twice its length", () => {
  const buffer = new BodyBuffer();
  for (let i = 0; i < 100_000; i++) buffer.append(Buffer.of(i));
  expect(buffer.length).toBe(100_000);
  expect(buffer.bytes.buffer.byteLength).toBeLessThan(300_000);
});
