import { getHeapStatistics } from "node:v8";
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { BodyBudget, Holding } from "../../src/http/body-budget.ts";
import { openCollector } from "../support/collect-garbage.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Who = { readonly address: string; readonly token?: string };

function hold(budget: BodyBudget, { address, token }: Who): Holding {
  return new Holding(budget, {
    peerAddress: address,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
}

/** What happens to one body of many, each of 10 KiB: the first that may not go on. */
function fillWith(budget: BodyBudget, who: (index: number) => Who): void {
  let room: Promise<void> | undefined;
  for (let index = 0; room === undefined; index++) room = hold(budget, who(index)).add(10 * KiB);
  room.catch(() => {});
}

test.each<[whose: string, who: (index: number) => Who, portion: number]>([
  ["of one token", (index) => ({ address: "10.0.0.1", token: `${" ".repeat(index)}a ` }), 1 / 3],
  ["of one address without tokens", () => ({ address: "10.0.0.1" }), 1 / 2],
  ["of an address, many tokens", (index) => ({ address: "10.0.0.1", token: `${index}` }), 1 / 2],
  ["one token", (index) => ({ address: `10.0.${index >> 8}.${index & 255}`, token: "a" }), 1 / 2],
  ["of a /64", (index) => ({ address: `fd00::${index.toString(16)}`, token: `${index}` }), 1 / 2],
])("bodies that are never complete, %s, leave room for others", (_whose, who, portion) => {
  const budget = new BodyBudget({ bytesMax: 10 * MiB });
  fillWith(budget, who);
  expect(budget.heldBytes).toBeGreaterThan((portion - 0.1) * 10 * MiB);
  expect(budget.heldBytes).toBeLessThan((portion + 0.1) * 10 * MiB);
  expect(hold(budget, { address: "10.9.9.9", token: "other" }).add(MiB)).toBeUndefined();
});

test("one that waits goes on when another is done, the older ones first", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  const first = hold(budget, who);
  await first.add(520 * KiB);
  const order: string[] = [];
  const [second, third] = [hold(budget, who), hold(budget, who)];
  void second.add(10 * KiB)?.then(() => order.push("second"));
  void third.add(10 * KiB)?.then(() => order.push("third"));
  await vi.advanceTimersByTimeAsync(100);
  expect([budget.waiting, order]).toEqual([2, []]);
  first.give(KiB);
  first.release();
  // Those of the two that wait, and one for all that was given back.
  expect(vi.getTimerCount()).toBe(3);
  await vi.advanceTimersByTimeAsync(100);
  expect([budget.waiting, order]).toEqual([0, ["second", "third"]]);
  for (const one of [second, third]) one.release();
  expect(budget.heldBytes).toBe(0);
});

test("one that has its shares nearly to itself may take more, and leaves an eighth", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  const [small, first, second] = [hold(budget, who), hold(budget, who), hold(budget, who)];
  expect(small.add(64 * KiB)).toBeUndefined();
  expect(first.add(600 * KiB)).toBeUndefined();
  expect(first.add(0, 232 * KiB)).toBeUndefined();
  expect(() => second.add(KiB)).toThrow(/room/);
  const room = first.add(0, KiB);
  expect([budget.waiting, budget.heldBytes]).toEqual([1, 896 * KiB]);
  expect(hold(budget, { address: "10.0.0.2" }).add(64 * KiB)).toBeUndefined();
  small.release();
  await vi.advanceTimersByTimeAsync(1);
  expect([budget.waiting, budget.heldBytes]).toEqual([1, 896 * KiB]);
  second.release();
  first.give(100 * KiB);
  await vi.advanceTimersByTimeAsync(10_000);
  await room;
  expect(budget.heldBytes).toBe(797 * KiB);
});

describe("of two bodies of an address, within a budget of 1000 bytes,", () => {
  const open = (first: number) => {
    const budget = new BodyBudget({ bytesMax: 1000 });
    const who = { address: "10.0.0.1" };
    expect(hold(budget, who).add(first)).toBeUndefined();
    return { budget, second: hold(budget, who) };
  };

  test("the second goes on with as much as is free, and is refused above 1.5 of that", () => {
    expect(open(300).second.add(200)).toBeUndefined();
    expect(() => open(300).second.add(301)).toThrow(/room/);
  });

  test.each([201, 300])("it waits above that: with %d bytes", async (bytes) => {
    const { budget, second } = open(300);
    const room = second.add(bytes);
    expect([budget.waiting, budget.heldBytes]).toEqual([1, 300 + bytes]);
    const left = expect(room).rejects.toMatchObject({ code: Code.Canceled });
    second.release();
    await vi.advanceTimersByTimeAsync(1);
    await left;
    expect(budget.heldBytes).toBe(300);
  });
});

test("nothing is kept of callers that have left", () => {
  const collect = openCollector();
  const budget = new BodyBudget({ bytesMax: MiB });
  void hold(budget, { address: "10.0.0.1" }).add(200 * KiB);
  const call = (count: number) => {
    for (let i = 0; i < count; i++) {
      const holding = hold(budget, { address: "10.0.0.2", token: `${i}`.padEnd(1000, "x") });
      expect(holding.add(1)).toBeUndefined();
      holding.release();
    }
    collect();
    return getHeapStatistics().used_heap_size;
  };
  const before = call(10);
  expect(call(5000) - before).toBeLessThan(1_000_000);
});

test("other errors are no refusals", () => {
  const errors = [new ConnectError("away", Code.Unavailable), undefined];
  expect(errors.map(BodyBudget.isRefusal)).toEqual([false, false]);
});

test("the sum is that of what is held, and never exceeds the budget", async () => {
  const step = fc.record({
    who: fc.nat(5),
    what: fc.constantFrom("add", "more", "take", "give", "make", "release", "wait"),
    bytes: fc.nat(400),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 100 }), async (steps) => {
      const budget = new BodyBudget({ bytesMax: 1000 });
      const open = (index: number) =>
        hold(budget, { address: `10.0.0.${index % 3}`, token: `${index % 2}` });
      const holdings = [0, 1, 2, 3, 4, 5].map(open);
      const left: Holding[] = [];
      const waiting: unknown[] = [];
      const wait = (room: Promise<unknown> | undefined) => {
        waiting.push(room?.catch(() => {}));
      };
      for (const { who, what, bytes } of steps) {
        const holding = holdings[who] as Holding;
        try {
          if (what === "add") wait(holding.add(bytes));
          else if (what === "more") wait(holding.add(0, bytes));
          else if (what === "take") holding.take(bytes);
          else if (what === "give") holding.give(Math.min(bytes, Math.max(0, holding.bytes - 400)));
          else if (what === "wait") await vi.advanceTimersByTimeAsync(10 * bytes);
          else if (what === "make") wait(holding.make(bytes, async () => 2 * bytes, Number));
          else {
            holding.release();
            left.push(holding);
            holdings[who] = open(who);
          }
        } catch (error) {
          expect(BodyBudget.isRefusal(error)).toBe(true);
        }
        const sum = [...holdings, ...left].reduce((all, one) => all + one.bytes, 0);
        expect(budget.heldBytes).toBe(sum);
        expect(sum).toBeLessThanOrEqual(1000);
      }
      for (const holding of holdings) holding.release();
      await vi.advanceTimersByTimeAsync(10_000);
      await Promise.all(waiting);
      expect([budget.heldBytes, budget.waiting, vi.getTimerCount()]).toEqual([0, 0, 0]);
    }),
    { numRuns: 300 },
  );
});

const sizeOf = (bytes: Uint8Array) => bytes.length;

test("what was made counts as what it is", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const holding = hold(budget, { address: "10.0.0.1" });
  const make = (bytes: number, size: number) =>
    holding.make(bytes, async () => new Uint8Array(size), sizeOf);
  const broken = holding.make(300 * KiB, () => Promise.reject(new Error("broken")), sizeOf);
  await expect(broken).rejects.toThrow("broken");
  expect(budget.heldBytes).toBe(0);
  await make(300 * KiB, 10);
  expect(budget.heldBytes).toBe(10);
  await make(10, 300 * KiB);
  expect(budget.heldBytes).toBe(10 + 300 * KiB);
  await expect(make(10, MiB)).rejects.toMatchObject({ code: Code.Unavailable });
  expect(budget.heldBytes).toBe(10 + 300 * KiB);
  holding.release();
  holding.give(10);
  expect(budget.heldBytes).toBe(0);
});

test("what is being made for who has left counts until it is there", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const made = Promise.withResolvers<Uint8Array>();
  const left = hold(budget, { address: "10.0.0.1" });
  const making = left.make(600 * KiB, () => made.promise, sizeOf);
  left.release();
  expect(budget.heldBytes).toBe(600 * KiB);
  made.resolve(new Uint8Array(10));
  await making;
  expect(budget.heldBytes).toBe(0);
});

test("nothing is made for who has left before there was room", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  void hold(budget, who).add(300 * KiB);
  const left = hold(budget, who);
  const make = vi.fn();
  const making = expect(left.make(600 * KiB, make, sizeOf)).rejects.toThrow("left");
  left.release();
  await vi.advanceTimersByTimeAsync(1);
  await making;
  expect([make.mock.calls.length, budget.heldBytes]).toEqual([0, 300 * KiB]);
});

test.each([0, Number.NaN])("a limit of %s is none", (bytesMax) => {
  expect(() => new BodyBudget({ bytesMax })).toThrow(RangeError);
});
