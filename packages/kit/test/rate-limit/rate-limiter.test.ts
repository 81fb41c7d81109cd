import { expect, test } from "vitest";
import { createBuckets } from "../../src/rate-limit/gate.ts";

/** A day after the machine has started. */
const start = 86_400;

function createLimiter(perSecond: number) {
  const clock = { now: start };
  return { limiter: createBuckets(perSecond, () => clock.now), clock };
}

/** How many requests of a key are taken, of so many that come at once. */
function takenOf(limiter: ReturnType<typeof createBuckets>, key: string, count: number): number {
  return Array.from({ length: count }, () => limiter.take(key)).filter((wait) => wait === 0).length;
}

test.each([1, 2, 3, 7, 10, 1000, 99_999])("takes a second's worth at once: %d", (perSecond) => {
  const { limiter } = createLimiter(perSecond);
  expect(takenOf(limiter, "a", perSecond + 10)).toBe(perSecond);
});

test("takes as many in each second that follows, evenly", () => {
  const { limiter, clock } = createLimiter(4);
  takenOf(limiter, "a", 10);
  const taken = Array.from({ length: 8 }, () => {
    clock.now += 0.25;
    return takenOf(limiter, "a", 10);
  });
  expect(taken).toEqual(Array(8).fill(1));
});

test("tells how long to wait: before that there is none, then there is one", () => {
  const { limiter, clock } = createLimiter(4);
  takenOf(limiter, "a", 4);
  const wait = limiter.take("a");
  expect(wait).toBeCloseTo(0.25);
  clock.now += wait - 0.001;
  expect(takenOf(limiter, "a", 2)).toBe(0);
  clock.now += 0.001;
  expect(takenOf(limiter, "a", 2)).toBe(1);
});

test("does not let any number of other keys reset a bucket, or be in each other's way", () => {
  const { limiter } = createLimiter(2);
  takenOf(limiter, "a", 2);
  let taken = 0;
  for (let i = 0; i < 200_000; i++) taken += takenOf(limiter, `other ${i}`, 3);
  expect([taken, takenOf(limiter, "a", 1)]).toEqual([400_000, 0]);
});

test("remembers keys of two seconds alone, and none of them too short", () => {
  const { limiter, clock } = createLimiter(2);
  let most = 0;
  for (let tenth = 0; tenth < 100; tenth++) {
    for (let i = 0; i < 100; i++) expect(takenOf(limiter, `${tenth} ${i}`, 3)).toBe(2);
    expect(takenOf(limiter, "constant", 1)).toBe(tenth === 1 || tenth % 5 === 0 ? 1 : 0);
    if (tenth === 11) expect(takenOf(limiter, "4 0", 3)).toBe(1); // after 0.7 s
    most = Math.max(most, limiter.keys);
    clock.now += 0.1;
  }
  expect(most).toBeLessThanOrEqual(2100);
});
