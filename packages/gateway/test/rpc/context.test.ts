/** What differential.test.ts does not see of a context. */
import type { HandlerContext } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { cancellationOf, sendHeaders } from "../../src/rpc/call.ts";
import { createCall } from "../support/call-context.ts";

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
