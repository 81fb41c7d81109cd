import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { countValues, decode, valueBytes } from "../../src/codec/decode.ts";
import { BodyBudget, Holding } from "../../src/http/body-budget.ts";
import { readEnvelopes, requestErrors } from "../../src/rpc/envelope.ts";
import { envelope } from "../support/envelope.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

const readMaxValues = 100_000;

/** Reads what becomes so many values. */
function decoding(values: number, told: () => void = () => {}) {
  const parse = () => {
    told();
    countValues(values);
  };
  return { parse, readMaxValues };
}

function hold(authorization: string, budget = new BodyBudget()): Holding {
  return new Holding(budget, { peerAddress: "10.0.0.1", headers: { authorization } });
}

const large = new Uint8Array(8192);
const small = new Uint8Array(8);

test("who sends much to decode waits for others, who do not", async () => {
  const order: string[] = [];
  const [one, other, third] = [hold("one"), hold("other"), hold("third")];
  const ask = (bytes: Uint8Array, from: Holding, name: string) => {
    const telling = decoding(readMaxValues, () => order.push(name));
    return decode(bytes, telling, from);
  };
  const all = [large, small, large, large].map((bytes) => ask(bytes, one, "one"));
  all.push(ask(large, other, "other"));
  void ask(small, third, "small");
  expect(order).toEqual(["one", "small"]);
  await setImmediate();
  await Promise.all(all);
  expect(order.slice(0, 4)).toContain("other");
  expect(order).toHaveLength(6);
});

test("who has left while a message waits for its turn has it decoded no more", async () => {
  let decoded = 0;
  const [one, other] = [hold("one"), hold("one")];
  const count = () => void decoded++;
  await decode(large, decoding(readMaxValues, count), one);
  const waiting = [one, other, other].map((holding) =>
    decode(large, decoding(readMaxValues, count), holding),
  );
  other.release();
  const ends = await Promise.allSettled(waiting);
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(decoded).toBe(2);
});

test("others wait for what is refused no longer than for what is read", async () => {
  const refused = async () => decode(large, decoding(1e9), hold("one"));
  await expect(refused()).rejects.toThrow("has more than 100000 values");
  await decode(large, decoding(1), hold("other"));
});

test("addresses that one peer may have at will are one caller", async () => {
  const order: string[] = [];
  const from = (peerAddress: string) => new Holding(new BodyBudget(), { peerAddress, headers: {} });
  const all = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1"].map((address) => {
    const telling = decoding(readMaxValues, () => order.push(address));
    return decode(large, telling, from(address));
  });
  await Promise.all(all);
  expect(order.indexOf("192.0.2.1")).toBeLessThan(3);
});

test("a message counts as what it is decoded to, until its exchange ends", async () => {
  const budget = new BodyBudget();
  const holding = hold("one", budget);
  await decode(small, decoding(20_000), holding);
  expect(budget.heldBytes).toBe(20_000 * valueBytes);
  holding.release();
  expect(budget.heldBytes).toBe(0);
});

test("a message that is decoded to more than there is room for is refused", async () => {
  const holding = hold("one", new BodyBudget({ bytesMax: 1_000_000 }));
  const refused = async () => decode(small, decoding(20_000), holding);
  expect(BodyBudget.isRefusal(await refused().catch((error) => error))).toBe(true);
});

test("a message of a stream counts until the next one is asked for", async () => {
  const budget = new BodyBudget();
  const body = [envelope(large), envelope(large)];
  const exchange = { ...createMemoryExchange({ body }), holding: hold("one", budget) };
  const errors = requestErrors("client_streaming");
  const limits = { compression: null, readMaxBytes: large.length, endFlag: 0, errors };
  const messages = readEnvelopes(exchange, { ...decoding(20_000), ...limits });
  const held: number[] = [];
  for await (const _ of messages) held.push(budget.heldBytes);
  expect(Math.max(...held)).toBeLessThan(21_000 * valueBytes);
  expect(Math.min(...held)).toBeGreaterThanOrEqual(20_000 * valueBytes);
});

test("in Workers, nobody waits for timers of others, which end with their requests", async () => {
  onTestFinished(() => void vi.useRealTimers().unstubAllGlobals().resetModules());
  vi.stubGlobal("WebSocketPair", {});
  vi.stubGlobal("clearTimeout", () => {}); // has no effect on those of others
  vi.useFakeTimers({ toFake: ["setTimeout", "setImmediate"] });
  vi.resetModules();
  const { countValues, decode } = await import("../../src/codec/decode.ts");
  const { nextTurn } = await import("../../src/http/body.ts");
  const { BodyBudget } = await import("../../src/http/body-budget.ts");
  const decoding = { parse: () => countValues(readMaxValues), readMaxValues };
  for (const _ of [1, 2]) expect(decode(large, decoding, undefined)).toBe(readMaxValues);
  void nextTurn();
  vi.clearAllTimers();
  const budget = new BodyBudget({ bytesMax: 1000 });
  const [first, second] = [hold("one", budget), hold("one", budget)];
  void first.add(300);
  const waiting = [second.add(0, 200), nextTurn()];
  first.release();
  expect(budget.waiting).toBe(0);
  vi.runAllTimers();
  await Promise.all(waiting);
  expect(budget.heldBytes).toBe(200);
});
