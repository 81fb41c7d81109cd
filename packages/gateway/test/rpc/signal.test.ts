/** A call: its signal, and of its context what differential.test.ts does not see. */
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import type { Holding } from "../../src/http/body-budget.ts";
import { type Call, cancellationOf, sendHeaders } from "../../src/rpc/call.ts";
import { drainingSignal } from "../../src/rpc/own-services.ts";
import { createCall } from "../support/call-context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

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

test("a signal first used after its call has failed is aborted, with the reason", () => {
  const failure = new Error("no");
  const call = createCall();
  call.abort(failure);
  expect(call.signal.reason).toBe(failure);
});

test("listeners are notified of the end once, and then find its reason", () => {
  const failure = new Error("no");
  const call = createCall();
  const heard: unknown[] = [];
  onAbort(call, () => heard.push(call.reason));
  onAbort(call, () => heard.push(call.signal.reason));
  expect(call.aborted).toBe(false);
  call.abort(failure);
  call.abort(new Error("later"));
  expect(call.aborted).toBe(true);
  expect(heard).toEqual([failure, failure]);
});

test("a client that leaves without a reason gives the default one of an AbortSignal", () => {
  const exchange = createMemoryExchange();
  const call = createCall({ exchange });
  let reason: unknown;
  onAbort(call, () => {
    reason = call.reason;
  });
  exchange.call?.abort(undefined);
  expect(reason).toMatchObject({ name: "AbortError" });
});

test("listeners are not notified once the call has succeeded", () => {
  const call = createCall();
  onAbort(call, expect.unreachable);
  call.release();
  call.abort(new Error("too late"));
  expect(call.aborted).toBe(false);
});

test("an exchange knows its call until it is over", () => {
  const exchange = createMemoryExchange();
  for (const end of ["release", "abort"] as const) {
    const call = createCall({ exchange });
    expect(exchange.call).toBe(call);
    call[end](undefined);
    expect(exchange.call).toBeUndefined();
  }
});

test("a call holds what its exchange holds", () => {
  const holding = {} as Holding;
  const exchange = { ...createMemoryExchange(), holding };
  expect(createCall({ exchange }).holding).toBe(holding);
});

test("listeners that were removed hear nothing of the end, and the others do", () => {
  const heard: number[] = [];
  const call = createCall();
  const listeners = [0, 1, 2, 3].map((index) => ({ handleEvent: () => heard.push(index) }));
  for (const each of listeners) call.addEventListener("abort", each);
  for (const each of [listeners[0], listeners[2]])
    if (each) call.removeEventListener("abort", each);
  call.abort(new Error("no"));
  expect(heard).toEqual([1, 3]);
});

describe("a shutdown", () => {
  test("ends the calls that are watched, with its reason, but none that has succeeded", () => {
    const shutdown = new AbortController();
    const create = () => createCall({ shutdownSignal: shutdown.signal });
    const [one, two, done] = [create(), create(), create()];
    const heard: unknown[] = [];
    for (const call of [one, two, done]) onAbort(call, () => heard.push(call.reason));
    done.release();
    const reason = new Error("over");
    shutdown.abort(reason);
    expect(heard).toEqual([reason, reason]);
    expect(create().reason).toBe(reason);
  });

  test("is listened to once for all calls", () => {
    const { signal } = new AbortController();
    const listen = vi.spyOn(signal, "addEventListener");
    for (let i = 0; i < 3; i++) {
      expect(createCall({ shutdownSignal: signal }).aborted).toBe(false);
    }
    expect(listen).toHaveBeenCalledTimes(1);
  });
});

test("a race with the end of a call is won by what settles first", async () => {
  const call = createCall();
  const remove = vi.spyOn(call, "removeEventListener");
  expect(await call.race(Promise.resolve("done"))).toBe("done");
  const failure = new Error("no");
  await expect(call.race(Promise.reject(failure))).rejects.toBe(failure);
  await new Promise((resolve) => setImmediate(resolve));
  expect(remove).toHaveBeenCalledTimes(2);
  const reason = new Error("over");
  const late = call.race(new Promise(() => {}));
  call.abort(reason);
  await expect(late).rejects.toBe(reason);
  expect(await call.race(Promise.resolve("done"))).toBe("done");
  await expect(call.race(new Promise(() => {}))).rejects.toBe(reason);
});

test("a deadline is told as the time that is left", () => {
  expect(createCall().timeoutMs()).toBeUndefined();
  const context = createCall({ timeoutMs: 1000 });
  const leftMs = context.timeoutMs();
  expect(leftMs).toBeLessThanOrEqual(1000);
  expect(leftMs).toBeGreaterThan(0);
  expect(Number.isInteger(leftMs)).toBe(true);
  expect(createCall({ timeoutMs: 0 }).timeoutMs()).toBeLessThanOrEqual(0);
});

test("the cancellation of a context is that of its call, else its signal", () => {
  const context = createCall();
  expect(cancellationOf(context)).toBe(context);
  const copy = { ...context };
  expect(cancellationOf(copy)).toBe(context.signal);
});

test("the head is sent of a stream, and of nothing else", () => {
  const context = createCall();
  sendHeaders(context);
  sendHeaders({} as HandlerContext);
  let sent = 0;
  context.sendHead = () => sent++;
  sendHeaders({ ...context });
  expect(sent).toBe(1);
});

describe("a draining signal", () => {
  const own = new ConnectError("over", Code.Aborted);
  const shutDown = { code: Code.Unavailable, rawMessage: "the server is shutting down" };

  test.each([
    ["an error for clients", own, own],
    ["another error", new Error("no"), { ...shutDown, cause: new Error("no") }],
    ["none", undefined, shutDown],
  ])("aborts with the one given, and a reason that is %s", (_what, given, reason) => {
    const controller = new AbortController();
    const signal = drainingSignal(controller.signal);
    expect(signal.aborted).toBe(false);
    controller.abort(given);
    expect(signal.reason).toMatchObject(reason);
    expect(drainingSignal(controller.signal).reason).toMatchObject(reason);
  });

  test("never aborts without one", () => {
    expect(drainingSignal(undefined).aborted).toBe(false);
  });
});
