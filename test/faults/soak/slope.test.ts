/** What counts as growth in a soak, and what does not. */
import { expect, test } from "vitest";
import { createRandom } from "../random.ts";
import { isGrowing, type Point, slopeOf } from "./slope.ts";

const minuteMs = 60_000;
const random = createRandom(1, "noise");

/** A life of two hours, one point a minute. */
function life(valueAt: (minute: number) => number): Point[] {
  return Array.from({ length: 120 }, (_, minute) => ({
    atMs: minute * minuteMs,
    value: valueAt(minute),
  }));
}

const noise = () => (random.next() + random.next() - 1) * 3;
const limit = 4;

test.each<[what: string, valueAt: (minute: number) => number, isFound: boolean]>([
  ["a leak within noise", (minute) => 100 + minute / 10 + noise(), true],
  ["a leak of less than the limit", (minute) => 100 + minute / 30 + noise(), false],
  ["noise", () => 100 + noise(), false],
  ["outliers, more at the end", (minute) => 100 + (random.chance(minute / 600) ? 500 : 0), false],
])("%s", (_what, valueAt, isFound) => {
  expect(isGrowing(slopeOf(life(valueAt)), limit)).toBe(isFound);
});

test("a warm-up changes neither the slope nor its interval", () => {
  const warm = life((minute) => 100 + 30 * Math.min(1, minute / 20));
  expect(slopeOf(warm.slice(0, 80))).toEqual({ perHour: 0, lowest: 0, highest: 0 });
});

test.each([
  ["a few points", life((minute) => minute).slice(0, 8)],
  ["half an hour, some of which is warm-up", life((minute) => minute).slice(0, 30)],
])("%s gives no result", (_what, points) => {
  expect(slopeOf(points)).toBeUndefined();
});
