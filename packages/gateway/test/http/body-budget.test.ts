import { getHeapStatistics } from "node:v8";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { BodyBudget, type Holding } from "../../src/http/body-budget.ts";
import { openCollector } from "../support/collect-garbage.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Who {
  readonly address: string;
  readonly token?: string;
}

function hold(budget: BodyBudget, { address, token }: Who): Holding {
  return budget.hold({
    peerAddress: address,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
}

/** What happens to one body of many, each of 10 KiB: the first that may not go on. */
function fillWith(budget: BodyBudget, who: (index: number) => Who): void {
  for (let index = 0; ; index++) {
    const room = hold(budget, who(index)).add(10 * KiB);
    if (room === undefined) continue;
    room.catch(() => {});
    return;
  }
}

describe("bodies that are never complete,", () => {
  test.each<[whose: string, who: (index: number) => Who, portion: number]>([
    ["of one token", () => ({ address: "10.0.0.1", token: "a" }), 1 / 3],
    ["of one address without tokens", () => ({ address: "10.0.0.1" }), 1 / 2],
    [
      "of one address with many tokens",
      (index) => ({ address: "10.0.0.1", token: `${index}` }),
      1 / 2,
    ],
    [
      "of one token at many addresses",
      (index) => ({ address: `10.0.${index >> 8}.${index & 255}`, token: "a" }),
      1 / 2,
    ],
    [
      "of a /64 of IPv6",
      (index) => ({ address: `fd00::${index.toString(16)}`, token: `${index}` }),
      1 / 2,
    ],
  ])("%s, are stopped in time to leave room for others", (_whose, who, portion) => {
    const budget = new BodyBudget({ bytesMax: 10 * MiB });
    fillWith(budget, who);
    expect(budget.heldBytes).toBeGreaterThan((portion - 0.1) * 10 * MiB);
    expect(budget.heldBytes).toBeLessThan((portion + 0.1) * 10 * MiB);
    const other = hold(budget, { address: "10.9.9.9", token: "other" });
    expect(other.add(MiB)).toBeUndefined();
  });
});

test("one that waits goes on when another is done, the older ones first", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  const first = hold(budget, who);
  await first.add(520 * KiB);
  const order: string[] = [];
  const [second, third] = [hold(budget, who), hold(budget, who)];
  const rooms = [second.add(10 * KiB), third.add(10 * KiB)];
  void rooms[0]?.then(() => order.push("second"));
  void rooms[1]?.then(() => order.push("third"));
  await vi.advanceTimersByTimeAsync(100);
  expect([budget.waiting, order]).toEqual([2, []]);
  first.give(KiB);
  first.release();
  // Those of the two that wait, and one for all that was given back.
  expect(vi.getTimerCount()).toBe(3);
  await vi.advanceTimersByTimeAsync(100);
  expect([budget.waiting, order]).toEqual([0, ["second", "third"]]);
  second.release();
  third.release();
  expect(budget.heldBytes).toBe(0);
});

test("those that began first go on first, whatever they were sent since", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  const [first, second, third] = [hold(budget, who), hold(budget, who), hold(budget, who)];
  void first.add(260 * KiB);
  for (const holding of [second, third, second]) void holding.add(80 * KiB);
  expect(budget.waiting).toBe(0);
  const order: string[] = [];
  void third.add(20 * KiB)?.then(() => order.push("third"));
  void second.add(10 * KiB)?.then(() => order.push("second"));
  expect(budget.waiting).toBe(2);
  first.release();
  await vi.advanceTimersByTimeAsync(1);
  expect(order).toEqual(["second", "third"]);
});

test("the oldest of a caller goes on, even over its share", () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  const [first, second] = [hold(budget, who), hold(budget, who)];
  expect(first.add(600 * KiB)).toBeUndefined();
  second.add(10 * KiB)?.catch(() => {});
  expect(budget.waiting).toBe(1);
  expect(first.add(600 * KiB)).toBeUndefined();
  expect(first.add(600 * KiB)).toBeUndefined();
});

describe("of two bodies of an address, within a budget of 1000 bytes,", () => {
  const open = (first: number) => {
    const budget = new BodyBudget({ bytesMax: 1000 });
    const who = { address: "10.0.0.1" };
    expect(hold(budget, who).add(first)).toBeUndefined();
    return { budget, second: hold(budget, who) };
  };

  test("the second goes on while both take as much as is free", () => {
    expect(open(300).second.add(200)).toBeUndefined();
  });

  test.each([201, 300])("it waits above that: with %d bytes", async (bytes) => {
    const { budget, second } = open(300);
    const room = second.add(bytes);
    expect(budget.waiting).toBe(1);
    // While it waits, it may be sent one window.
    expect(budget.heldBytes).toBe(300 + bytes + 64 * KiB);
    second.release();
    await expect(room).rejects.toMatchObject({ code: Code.Canceled });
    expect(budget.heldBytes).toBe(300);
  });

  test("it is refused above one and a half of that", () => {
    expect(() => open(300).second.add(301)).toThrow(/room/);
  });
});

test("those that wait go on each time that there is room", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  for (let round = 0; round < 2; round++) {
    const older = hold(budget, who);
    void older.add(520 * KiB);
    const waiting = hold(budget, who);
    const room = waiting.add(10 * KiB);
    expect(budget.waiting).toBe(1);
    older.release();
    await vi.advanceTimersByTimeAsync(1);
    await room;
    expect([budget.waiting, budget.heldBytes]).toEqual([0, 10 * KiB]);
    waiting.release();
  }
});

test("nothing is kept of callers that have left", () => {
  const collect = openCollector();
  const budget = new BodyBudget({ bytesMax: MiB });
  void hold(budget, { address: "10.0.0.1" }).add(200 * KiB);
  const call = (count: number) => {
    for (let i = 0; i < count; i++) {
      const holding = hold(budget, { address: "10.0.0.2", token: `${i}`.padEnd(1000) });
      expect(holding.add(1)).toBeUndefined();
      holding.release();
    }
    collect();
    return getHeapStatistics().used_heap_size;
  };
  const before = call(10);
  expect(call(5000) - before).toBeLessThan(1_000_000);
});

test("a refusal is told from other errors", () => {
  const budget = new BodyBudget({ bytesMax: 10 });
  void hold(budget, { address: "10.0.0.1" }).add(20);
  let refusal: unknown;
  try {
    void hold(budget, { address: "10.0.0.2" }).add(1);
  } catch (error) {
    refusal = error;
  }
  const errors = [
    refusal,
    new ConnectError("away", Code.Unavailable),
    new Error("away"),
    undefined,
  ];
  expect(errors.map(BodyBudget.isRefusal)).toEqual([true, false, false, false]);
});

test("below the limit, the oldest of each caller goes on", () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  expect(hold(budget, { address: "10.0.0.1" }).add(200 * KiB)).toBeUndefined();
  expect(hold(budget, { address: "10.0.0.2" }).add(500 * KiB)).toBeUndefined();
});

test("above the limit, only the oldest of all goes on", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const first = hold(budget, { address: "10.0.0.1" });
  expect(first.add(2 * MiB)).toBeUndefined();
  const second = hold(budget, { address: "10.0.0.2" });
  expect(() => second.add(1)).toThrow(
    expect.objectContaining({ code: Code.Unavailable, rawMessage: expect.stringMatching(/room/) }),
  );
  expect(first.add(1)).toBeUndefined();
  expect(budget.refusals).toBe(1);
});

test("who waits too long is refused, and told when to try again", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  await hold(budget, who).add(520 * KiB);
  const late = hold(budget, who);
  const room = late.add(10 * KiB);
  const refused = expect(room).rejects.toMatchObject({ code: Code.Unavailable });
  await vi.advanceTimersByTimeAsync(3000);
  await refused;
  const error = (await room?.catch((reason: unknown) => reason)) as ConnectError;
  expect(error.metadata.get("retry-after")).toBe("1");
  expect(error.findDetails(RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 1n } }]);
  late.release();
  expect(budget.heldBytes).toBe(520 * KiB);
});

test("who leaves while it waits holds nothing", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  const first = hold(budget, who);
  void first.add(520 * KiB);
  const left = hold(budget, who);
  const room = expect(left.add(10 * KiB)).rejects.toMatchObject({ code: Code.Canceled });
  left.release();
  await room;
  left.give(10 * KiB);
  expect(() => left.add(10 * KiB)).toThrow(expect.objectContaining({ code: Code.Canceled }));
  expect([budget.waiting, budget.heldBytes]).toEqual([0, 520 * KiB]);
  first.release();
  await vi.advanceTimersByTimeAsync(1);
  expect([budget.heldBytes, vi.getTimerCount()]).toEqual([0, 0]);
});

test("what was made counts as far as it goes, and keeps no other waiting", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const holding = hold(budget, { address: "10.0.0.1" });
  const broken = holding.make(300 * KiB, () => Promise.reject(new Error("broken")));
  await expect(broken).rejects.toThrow("broken");
  expect(budget.heldBytes).toBe(0);
  await holding.make(300 * KiB, async () => new Uint8Array(10));
  expect(budget.heldBytes).toBe(10);
  expect(hold(budget, { address: "10.0.0.1" }).add(600 * KiB)).toBeUndefined();
  holding.release();
  expect(budget.heldBytes).toBe(600 * KiB);
});

test("what is being made for who has left counts until it is there", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const made = Promise.withResolvers<Uint8Array>();
  const left = hold(budget, { address: "10.0.0.1" });
  const making = left.make(600 * KiB, () => made.promise);
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
  const making = expect(left.make(600 * KiB, make)).rejects.toMatchObject({ code: Code.Canceled });
  left.release();
  await making;
  expect([make.mock.calls.length, budget.heldBytes]).toEqual([0, 300 * KiB]);
});

test("many that wait do not go on all at once", async () => {
  const budget = new BodyBudget({ bytesMax: 100 * MiB });
  const who = { address: "10.0.0.1" };
  const first = hold(budget, who);
  await first.add(50.5 * MiB);
  let resumed = 0;
  for (let index = 0; index < 20; index++) {
    const holding = hold(budget, who);
    const goOn = async () => {
      resumed++;
      await holding.add(64 * KiB);
    };
    holding
      .add(10 * KiB)
      ?.then(goOn)
      .catch(() => {});
  }
  expect(budget.waiting).toBe(20);
  first.give(2 * MiB);
  await vi.advanceTimersByTimeAsync(10);
  expect(resumed).toBeGreaterThan(0);
  expect(resumed).toBeLessThan(20);
});

test.each([0, -1, 1.5, Number.NaN])("a limit of %s is none", (bytesMax) => {
  expect(() => new BodyBudget({ bytesMax })).toThrow(RangeError);
});

test("work that is tried again after its exchange has ended holds nothing", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const holding = hold(budget, { address: "10.0.0.1" });
  const tooLarge = holding.make(10 * KiB, async () => {
    holding.release();
    throw new ConnectError("too large", Code.ResourceExhausted);
  });
  await expect(tooLarge).rejects.toMatchObject({ code: Code.ResourceExhausted });
  const again = holding.make(500 * KiB, async () => new Uint8Array());
  await expect(again).rejects.toMatchObject({ code: Code.Canceled });
  expect(budget.heldBytes).toBe(0);
});

test.each<[what: string, end: (stream: Holding) => void, heldKiB: number]>([
  ["gives back", (stream) => void stream.add(-199 * KiB), 1],
  ["needs no more", (stream) => void stream.add(0), 200],
  ["is whole", (stream) => stream.whole(), 200],
])("a stream that %s keeps no other of its address waiting", (_what, end, heldKiB) => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const stream = hold(budget, { address: "10.0.0.1" });
  void stream.add(200 * KiB);
  end(stream);
  expect([budget.heldBytes, vi.getTimerCount()]).toEqual([heldKiB * KiB, 0]);
  const upload = hold(budget, { address: "10.0.0.1" });
  expect(upload.add(600 * KiB)).toBeUndefined();
  stream.release();
  upload.release();
  expect(budget.heldBytes).toBe(0);
});

test("many small bodies that have ended are not unpacked beyond their share", async () => {
  const budget = new BodyBudget({ bytesMax: 10 * MiB });
  const who = { address: "10.0.0.1", token: "a" };
  const unpacked = Promise.withResolvers<Uint8Array>();
  const holdings = Array.from({ length: 100 }, () => hold(budget, who));
  const made = holdings.map((holding) => {
    const message = holding.make(MiB, () => unpacked.promise);
    holding.rest(); // the end of its body
    return message.catch((error: unknown) => error);
  });
  expect(budget.heldBytes).toBeLessThan(6 * MiB);
  const other = hold(budget, { address: "10.0.0.1", token: "b" });
  expect(other.add(KiB)).toBeUndefined();
  other.release();
  unpacked.resolve(new Uint8Array(1));
  for (const holding of holdings) holding.release();
  await Promise.all(made);
  expect(budget.heldBytes).toBe(0);
});

test("requests whose bodies do not come count until these are whole", () => {
  const budget = new BodyBudget({ bytesMax: 3 * MiB });
  const begun: Holding[] = [];
  const begin = () => {
    const holding = hold(budget, { address: "10.0.0.1", token: "a" });
    try {
      const room = holding.begin();
      room?.catch(() => {});
      if (room === undefined) begun.push(holding);
      return room === undefined;
    } catch {
      return false;
    }
  };
  while (begin());
  expect(budget.heldBytes).toBeGreaterThan(0.9 * MiB);
  expect(budget.heldBytes).toBeLessThan(1.5 * MiB);
  expect(hold(budget, { address: "10.9.9.9", token: "other" }).begin()).toBeUndefined();
  for (const holding of begun.splice(0)) holding.whole();
  expect(budget.heldBytes).toBeLessThan(0.1 * MiB);
  expect(begin()).toBe(true);
});

test("one that was refused, and has not left yet, is not the oldest", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const large = hold(budget, { address: "10.0.0.1" });
  void large.add(2 * MiB);
  const who = { address: "10.0.0.2" };
  expect(() => hold(budget, who).add(1)).toThrow(/room/);
  large.release();
  const late = hold(budget, who);
  void late.add(600 * KiB);
  expect(budget.waiting).toBe(0);
  const waiting = hold(budget, who);
  const refused = expect(waiting.add(1)).rejects.toThrow(/room/);
  await vi.advanceTimersByTimeAsync(3000);
  await refused;
  late.release();
  expect(hold(budget, who).add(600 * KiB)).toBeUndefined();
});

test("a request that waited in vain gives back what it took, and no more", async () => {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { address: "10.0.0.1" };
  const older = hold(budget, who);
  void older.add(550 * KiB);
  const waiting = hold(budget, who);
  const room = waiting.begin();
  expect(budget.waiting).toBe(1);
  const refused = expect(room).rejects.toThrow(/room/);
  await vi.advanceTimersByTimeAsync(3000);
  await refused;
  waiting.whole();
  expect(budget.heldBytes).toBe(550 * KiB);
  const whole = hold(budget, { address: "10.0.0.2" });
  expect(whole.begin()).toBeUndefined();
  expect(budget.heldBytes).toBe(558 * KiB);
  whole.whole();
  whole.whole();
  expect(budget.heldBytes).toBe(550 * KiB);
});

test("a request whose client has left does not begin", () => {
  const holding = hold(new BodyBudget(), { address: "10.0.0.1" });
  holding.release();
  expect(() => holding.begin()).toThrow(expect.objectContaining({ code: Code.Canceled }));
});
