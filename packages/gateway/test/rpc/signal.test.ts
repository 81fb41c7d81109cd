import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { type AbortListener, CallSignal } from "../../src/rpc/context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

function listener(handleEvent: () => void): AbortListener {
  return { handleEvent };
}

const open = { exchange: createMemoryExchange(), deadline: undefined, shutdownSignal: undefined };

test("a signal first used after its client has left is aborted, with the reason", () => {
  const closeReason = new ConnectError("reset", Code.Canceled);
  const exchange = { ...createMemoryExchange(), isClosed: true, closeReason };
  const { signal } = new CallSignal({ ...open, exchange });
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toBe(closeReason);
});

test("a signal first used after its call has failed is aborted, with the reason", () => {
  const failure = new Error("no");
  const call = new CallSignal(open);
  call.abort(failure);
  expect(call.signal.reason).toBe(failure);
});

test("a signal first used after its call has succeeded is not aborted", () => {
  const call = new CallSignal(open);
  call.release();
  expect(call.signal.aborted).toBe(false);
});

test("listeners are notified of the end once, and then find its reason", () => {
  const failure = new Error("no");
  const call = new CallSignal(open);
  const heard: unknown[] = [];
  call.addEventListener(
    "abort",
    listener(() => heard.push(call.reason)),
  );
  call.addEventListener(
    "abort",
    listener(() => heard.push(call.signal.reason)),
  );
  expect(call.aborted).toBe(false);
  call.abort(failure);
  call.abort(new Error("later"));
  expect(call.aborted).toBe(true);
  expect(heard).toEqual([failure, failure]);
});

test("a client that leaves without a reason gives the default one of an AbortSignal", () => {
  const exchange = createMemoryExchange();
  const call = new CallSignal({ ...open, exchange });
  let reason: unknown;
  call.addEventListener(
    "abort",
    listener(() => {
      reason = call.reason;
    }),
  );
  exchange.call?.abort(undefined);
  expect(reason).toMatchObject({ name: "AbortError" });
});

test("listeners are not notified once they are removed, or the call has succeeded", () => {
  const heard: string[] = [];
  const removed = listener(() => heard.push("removed"));
  const call = new CallSignal(open);
  call.addEventListener("abort", removed);
  call.removeEventListener("abort", removed);
  call.addEventListener(
    "abort",
    listener(() => heard.push("released")),
  );
  call.release();
  call.abort(new Error("too late"));
  expect(heard).toEqual([]);
  expect(call.aborted).toBe(false);
});
