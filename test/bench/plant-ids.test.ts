import { describe, expect, test } from "vitest";
import {
  ascendingIdsMax,
  type IdOrder,
  IdStreams,
  idStreamsMax,
  plantId,
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
});

test("streams are handed out once, and not beyond the last", () => {
  const streams = new IdStreams();
  expect([streams.take(), streams.take(3), streams.take()]).toEqual([0, 1, 4]);
  expect(() => streams.take(idStreamsMax)).toThrow(RangeError);
});
