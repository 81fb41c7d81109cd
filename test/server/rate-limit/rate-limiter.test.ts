import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createRateLimitMemory,
  RateLimiter,
  type RateLimitMemory,
} from "../../../src/server/rate-limit/rate-limiter.ts";
import type { Counting } from "./counting-thread.ts";

/** A day after the machine has started. */
const start = 86_400;

function createLimiter(perSecond: number, memory: RateLimitMemory = createRateLimitMemory()) {
  const clock = { now: start };
  const limiter = new RateLimiter({ perSecond, memory, now: () => clock.now });
  return { limiter, clock };
}

/** How many requests of a key are taken, of so many that come at once. */
function takenOf(limiter: RateLimiter, key: string, count: number): number {
  let taken = 0;
  for (let i = 0; i < count; i++) if (limiter.take(key) === 0) taken++;
  return taken;
}

describe("a rate limiter", () => {
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

  test("is full again after a second, and holds no more after a year", () => {
    const { limiter, clock } = createLimiter(5);
    takenOf(limiter, "a", 10);
    clock.now += 1;
    expect(takenOf(limiter, "a", 10)).toBe(5);
    clock.now += 365 * 86_400;
    expect(takenOf(limiter, "a", 10)).toBe(5);
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

  test("does not count what it refuses", () => {
    const { limiter, clock } = createLimiter(2);
    takenOf(limiter, "a", 1000);
    clock.now += 0.5;
    expect(takenOf(limiter, "a", 1000)).toBe(1);
  });

  test("has a bucket for each key", () => {
    const { limiter } = createLimiter(3);
    const keys = Array.from({ length: 100 }, (_, i) => `2001:db8:0:${i}::/64`);
    expect(keys.map((key) => takenOf(limiter, key, 5))).toEqual(keys.map(() => 3));
  });

  test("does not let any number of other keys reset a bucket", () => {
    const { limiter } = createLimiter(2);
    takenOf(limiter, "a", 2);
    for (let i = 0; i < 200_000; i++) limiter.take(`other ${i}`);
    expect(limiter.take("a")).toBeGreaterThan(0);
  });

  test("leaves nearly all others alone when thousands of keys are at their limit", () => {
    const { limiter } = createLimiter(2);
    for (let i = 0; i < 7000; i++) takenOf(limiter, `busy ${i}`, 3);
    let harmed = 0;
    for (let i = 0; i < 10_000; i++) if (takenOf(limiter, `quiet ${i}`, 1) === 0) harmed++;
    expect(harmed).toBeLessThan(50); // 1 in 10,000 or so
  });

  test("counts with all who share its memory, and does not grow", () => {
    const memory = createRateLimitMemory();
    const { byteLength } = memory.cells;
    const [a, b] = [createLimiter(10, memory).limiter, createLimiter(10, memory).limiter];
    expect(takenOf(a, "a", 6) + takenOf(b, "a", 6)).toBe(10);
    for (let i = 0; i < 10_000; i++) a.take(`${i}`);
    expect(memory.cells.byteLength).toBe(byteLength);
    expect(byteLength).toBe(2 * 1024 * 1024);
  });

  test("takes no more of two threads that ask at the same time", async () => {
    const counting: Counting = {
      memory: createRateLimitMemory(),
      ...{ perSecond: 50_000, requests: 50_000 },
    };
    const file = new URL("counting-thread.ts", import.meta.url);
    const threads = [1, 2].map(() => new Worker(file, { workerData: counting }));
    onTestFinished(async () => void (await Promise.all(threads.map((t) => t.terminate()))));
    await Promise.all(threads.map((thread) => once(thread, "message")));
    const counts = threads.map((thread) => once(thread, "message"));
    for (const thread of threads) thread.postMessage("go");
    const [[one], [other]] = (await Promise.all(counts)) as [[number], [number]];
    expect(Math.min(one, other), "both had their turns").toBeGreaterThan(0);
    expect(one + other).toBe(50_000);
  });

  test("goes on after a thread that has died while it counted", () => {
    const memory = createRateLimitMemory();
    new Int32Array(memory.lock)[0] = 1;
    const { limiter } = createLimiter(10, memory);
    expect(takenOf(limiter, "a", 20)).toBe(10);
    expect([...new Int32Array(memory.lock)]).toEqual([0]);
  });

  test("keeps it a secret which keys share a bucket", () => {
    const cellsOf = (memory: RateLimitMemory) => {
      createLimiter(1, memory).limiter.take("a");
      return [...new Float64Array(memory.cells)].flatMap((full, place) => (full > 0 ? place : []));
    };
    const [one, other] = [cellsOf(createRateLimitMemory()), cellsOf(createRateLimitMemory())];
    expect(one).toHaveLength(4);
    expect(one).not.toEqual(other);
  });

  test("has a clock that all threads share", () => {
    const limiter = new RateLimiter({ perSecond: 1, memory: createRateLimitMemory() });
    expect([limiter.take("a") === 0, limiter.take("a") > 0]).toEqual([true, true]);
  });
});
