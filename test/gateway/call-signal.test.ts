import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { CallSignal } from "../../src/gateway/call-signal.ts";
import { createMemoryExchange } from "./support/memory-exchange.ts";

const open = { exchange: createMemoryExchange(), deadline: undefined, shutdownSignal: undefined };

test("a signal that is first looked at when its client has left is aborted, and says why", () => {
  const closeReason = new ConnectError("reset", Code.Canceled);
  const exchange = { ...createMemoryExchange(), isClosed: true, closeReason };
  const { signal } = new CallSignal({ ...open, exchange });
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toBe(closeReason);
});

test("a signal that is first looked at when its call has failed is aborted, and says why", () => {
  const failure = new Error("no");
  const call = new CallSignal(open);
  call.abort(failure);
  expect(call.signal.reason).toBe(failure);
});

test("a signal that is first looked at when its call has succeeded is open", () => {
  const call = new CallSignal(open);
  call.release();
  expect(call.signal.aborted).toBe(false);
});
