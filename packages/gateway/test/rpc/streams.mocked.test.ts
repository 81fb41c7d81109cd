/** Streams and deadlines of calls, by a clock that the test sets. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { BodyWriter, Exchange } from "../../src/http/exchange.ts";
import { type Call, holdHeaders, type StreamWire } from "../../src/rpc/call.ts";
import { sendMessages } from "../../src/rpc/streams.ts";
import { createCall } from "../support/call-context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An answer without a message for the time being. */
function openQuiet(changes: Partial<StreamWire>, write: BodyWriter["write"] = () => undefined) {
  const steps: string[] = [];
  const exchange: Exchange = {
    ...createMemoryExchange(),
    begin() {
      steps.push("head");
      return {
        write(chunk) {
          steps.push(Buffer.from(chunk).toString());
          return write(chunk);
        },
        end: () => void steps.push("end"),
      };
    },
  };
  const wire = {
    needsMessage: () => true,
    head: () => ({ status: 200, header: {} }),
    end: () => ({}),
    ...changes,
  };
  const call = createCall({ exchange, wire });
  const end = Promise.withResolvers<IteratorResult<never>>();
  const messages = { [Symbol.asyncIterator]: () => ({ next: () => end.promise }) };
  const over = sendMessages(call, { messages, trailer: call.responseTrailer });
  const finish = async () => {
    end.resolve({ done: true, value: undefined });
    await over;
  };
  return { steps, finish, exchange };
}

const quiet = () => ({ chunk: Buffer.from("q"), everyMs: 100 });

test("a head is held that a method held before its stream was begun", async () => {
  const needsMessage = (call: Call) => holdHeaders(call) !== undefined;
  const { steps, finish } = openQuiet({ needsMessage, quiet });
  vi.advanceTimersByTime(1000);
  expect(steps).toEqual([]);
  await finish();
});

test("no timer is left of an answer that has ended", async () => {
  const { finish } = openQuiet({ needsMessage: () => false, quiet });
  expect(vi.getTimerCount()).toBe(2);
  await finish();
  expect(vi.getTimerCount()).toBe(0);
});

describe("while no message comes", () => {
  test("nothing is written that the client does not take", async () => {
    const room = Promise.withResolvers<void>();
    const { steps, finish } = openQuiet({ quiet, needsMessage: () => false }, () => room.promise);
    vi.advanceTimersByTime(1250);
    expect(steps).toEqual(["head", "q"]);
    room.resolve();
    await vi.advanceTimersByTimeAsync(100);
    expect(steps).toEqual(["head", "q", "q"]);
    await finish();
  });

  test("nothing is written to a client that is gone", async () => {
    const { steps, finish, exchange } = openQuiet({ quiet, needsMessage: () => false });
    await vi.advanceTimersByTimeAsync(1000);
    Object.assign(exchange, { isClosed: true });
    vi.advanceTimersByTime(250);
    await finish();
    expect(steps).toEqual(["head", "q"]);
  });
});

test.each(["release", "abort"] as const)("a call that has ended has no timer: %s", (end) => {
  createCall({ timeoutMs: 1000 })[end](undefined);
  expect(vi.getTimerCount()).toBe(0);
});

test("the time that is left does not follow a clock that is set", () => {
  const call = createCall({ timeoutMs: 1000 });
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(400);
  expect(call.timeoutMs()).toBe(600);
  vi.advanceTimersByTime(599.5); // clients take 0 for no deadline
  expect(call.timeoutMs()).toBe(1);
  vi.advanceTimersByTime(100.5); // loops may wait for it to be over
  expect(call.timeoutMs()).toBe(-100);
});
