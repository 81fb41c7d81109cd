import fc from "fast-check";
import { expect, test } from "vitest";
import { BodyBuffer, byteLengthOf, bytesOf, jsonResponse } from "../../src/http/body.ts";

test("appended bytes are returned, whatever the pieces", () => {
  const piece = fc.uint8Array({ minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, fc.nat(30))), (steps) => {
      const buffer = new BodyBuffer();
      const taken: Uint8Array[] = [];
      for (const [chunk, wanted] of steps) {
        void buffer.append(chunk);
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

test("what was taken is not changed by what comes after it", () => {
  const buffer = new BodyBuffer();
  for (const text of ["ab", "cd"]) void buffer.append(Buffer.from(text));
  const taken = buffer.take(3);
  void buffer.append(Buffer.from("efgh"));
  expect(Buffer.from(taken).toString()).toBe("abc");
  expect(Buffer.from(buffer.bytes).toString()).toBe("defgh");
});

test("no chunk is written into", () => {
  const buffer = new BodyBuffer();
  const room = Buffer.from("abcdef");
  void buffer.append(room.subarray(0, 2));
  void buffer.append(Buffer.from("x"));
  expect(room.toString()).toBe("abcdef");
  buffer.take(3);
  void buffer.append(room);
  buffer.take(4);
  void buffer.append(Buffer.from("y"));
  expect(room.toString()).toBe("abcdef");
});

test("text has the length of its UTF-8", () => {
  for (const body of ["é🌱", new TextEncoder().encode("é🌱")]) {
    expect(byteLengthOf(body)).toBe(6);
    expect(Buffer.from(bytesOf(body)).toString()).toBe("é🌱");
  }
  expect(jsonResponse('"é"')).toMatchObject({
    status: 200,
    header: { "content-type": "application/json", "content-length": 4 },
    body: '"é"',
  });
});
