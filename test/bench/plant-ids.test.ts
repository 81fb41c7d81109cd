import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ascendingIdsMax,
  type IdOrder,
  IdStreams,
  idStreamsMax,
  plantId,
  spreadIds,
} from "../../bench/plant-ids.ts";

describe.each<IdOrder>(["ascending", "random"])("%s ids", (order) => {
  test("no stream repeats an id of another or of its own", () => {
    const lastStream = idStreamsMax - 1;
    // Every bit alone, and where a stream would run into the next.
    const bits = Array.from({ length: 31 }, (_, bit) => 2 ** bit);
    const first = Array.from({ length: 10_000 }, (_, n) => n);
    const places = [...new Set([...first, ...bits, ascendingIdsMax - 2, ascendingIdsMax - 1])];
    const streams = [0, 1, 2, lastStream - 1, lastStream];
    const ids = streams.flatMap((stream) => places.map((n) => plantId({ stream, order }, n)));
    expect(new Set(ids).size).toBe(streams.length * places.length);
  });

  test("all are odd, exact, and of one length in both encodings", () => {
    const stream = fc.integer({ min: 0, max: idStreamsMax - 1 });
    const n = fc.integer({ min: 0, max: ascendingIdsMax - 1 });
    fc.assert(
      fc.property(stream, n, (stream, n) => {
        const id = plantId({ stream, order }, n);
        expect(Number.isSafeInteger(id)).toBe(true);
        expect(id % 2).toBe(1);
        expect(`${id}`).toHaveLength(16);
        expect(id).toBeGreaterThanOrEqual(2 ** 49);
        expect(id).toBeLessThan(2 ** 56);
      }),
    );
  });
});

test.each([1, 100_000, 10_000_000])(
  "a store of %i plants has even ids in the same range",
  (count) => {
    const { first, step } = spreadIds(count);
    expect([first % 2, step % 2]).toEqual([0, 0]);
    expect(step).toBeGreaterThan(0);
    expect(first + (count - 1) * step).toBeLessThan(Number.MAX_SAFE_INTEGER);
  },
);

test("streams are handed out once, and not beyond the last", () => {
  const streams = new IdStreams();
  expect([streams.take(), streams.take(3), streams.take()]).toEqual([0, 1, 4]);
  expect(() => streams.take(idStreamsMax)).toThrow(RangeError);
});
