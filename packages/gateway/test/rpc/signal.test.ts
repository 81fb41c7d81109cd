/** A call: its signal, and of its context what differential.test.ts does not see. */
import { getEventListeners } from "node:events";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { type Call, cancellationOf, holdHeaders, sendHeaders } from "../../src/rpc/call.ts";
import { createCall } from "../support/call-context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";
import { within } from "../support/within.ts";

const onAbort = (call: Call, handleEvent: () => void) =>
  call.addEventListener("abort", { handleEvent });

test.each([
  ["has left", { isClosed: true }],
  ["has shut its sending side", { hasLeft: true }],
])("a signal first used after its client %s is aborted, with the reason", (_what, state) => {
  const closeReason = new ConnectError("reset", Code.Canceled);
  const exchange = { ...createMemoryExchange(), ...state, closeReason };
  expect(createCall({ exchange }).signal).toMatchObject({ aborted: true, reason: closeReason });
});

test("listeners are notified of the end once, and then find its reason", () => {
  const failure = new Error("no");
  const call = createCall();
  const heard: unknown[] = [];
  const gone = { handleEvent: () => heard.push("gone") };
  call.addEventListener("abort", gone);
  onAbort(call, () => heard.push(call.reason));
  onAbort(call, () => heard.push(call.signal.reason));
  for (let i = 0; i < 2; i++) call.removeEventListener("abort", gone);
  expect(call.aborted).toBe(false);
  call.abort(failure);
  call.abort(new Error("later"));
  expect(call.aborted).toBe(true);
  expect(heard).toEqual([failure, failure]);
});

test("listeners are not notified once the call has succeeded", () => {
  const call = createCall();
  onAbort(call, expect.unreachable);
  call.release();
  call.abort(new Error("too late"));
  expect(call.aborted).toBe(false);
});

test("a shutdown ends the calls that are watched, with its reason, but none that has succeeded", () => {
  const shutdown = new AbortController();
  const create = () => createCall({ shutdownSignal: shutdown.signal });
  const calls = Array.from({ length: 5 }, create);
  const heard: unknown[] = [];
  for (const call of calls) onAbort(call, () => heard.push(call.reason));
  for (const at of [4, 0, 3]) {
    const call = calls[at] ?? expect.unreachable();
    call.release();
    call.abort = () => heard.push("released calls are not kept");
  }
  expect(getEventListeners(shutdown.signal, "abort")).toHaveLength(1);
  const reason = new Error("over");
  shutdown.abort(reason);
  expect(heard).toEqual([reason, reason]);
  expect(create().reason).toBe(reason);
});

test("what hangs ends with the call, also if that has ended before; what is there counts", async () => {
  const call = createCall();
  const hangs = () => within("the end", call.race(new Promise<never>(() => {})));
  const first = hangs();
  call.abort("over");
  await expect(first).rejects.toBe("over");
  await expect(hangs()).rejects.toBe("over");
  expect(await call.race(Promise.resolve(1))).toBe(1);
});

test("the cancellation of a context is that of its call, else its signal", () => {
  const context = createCall();
  expect(cancellationOf(context)).toBe(context);
  expect(cancellationOf({ ...context })).toBe(context.signal);
});

test("the head is sent of a stream, and of nothing else", () => {
  const context = createCall();
  sendHeaders(context);
  for (const act of [sendHeaders, holdHeaders]) act({} as HandlerContext);
  let sent = 0;
  context.sendHead = () => sent++;
  sendHeaders({ ...context });
  expect(sent).toBe(1);
});
