import { type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  type Call,
  cancellationOf,
  headerWithTrailer,
  noTrailer,
  sendHeaders,
} from "../../src/rpc/call.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { createCall } from "../support/call-context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

interface Given {
  readonly timeoutMs?: number;
  readonly values?: ContextValues;
}

function contextOf(given: Given = {}): Call {
  return createCall({
    exchange: createMemoryExchange({ target: "/a?b", headers: { "x-asked": "1" } }),
    wire: { header: { "x-own": "1" }, trailer: noTrailer },
    ...given,
  });
}

test("a context tells what is called, and how", () => {
  const context = contextOf();
  expect(context).toMatchObject({
    method: FieldService.method.echo,
    service: FieldService,
    requestMethod: "POST",
    protocolName: "test",
    url: "http://localhost/a?b",
  });
  expect([...context.requestHeader]).toEqual([["x-asked", "1"]]);
  expect([...context.responseHeader]).toEqual([["x-own", "1"]]);
  const values = createContextValues();
  expect(contextOf({ values }).values).toBe(values);
});

test("a copy of a context has its signal", () => {
  const context = contextOf();
  const copy = { ...context };
  expect(copy.signal).toBe(context.signal);
  expect(Object.keys(copy)).toContain("signal");
});

test("a deadline is told as the time that is left", () => {
  expect(contextOf().timeoutMs()).toBeUndefined();
  const context = contextOf({ timeoutMs: 1000 });
  const leftMs = context.timeoutMs();
  expect(leftMs).toBeLessThanOrEqual(1000);
  expect(leftMs).toBeGreaterThan(0);
  expect(Number.isInteger(leftMs)).toBe(true);
  expect(contextOf({ timeoutMs: 0 }).timeoutMs()).toBeLessThanOrEqual(0);
});

test("the cancellation of a context is that of its call, else its signal", () => {
  const context = contextOf();
  expect(cancellationOf(context)).toBe(context);
  const copy = { ...context };
  expect(cancellationOf(copy)).toBe(context.signal);
});

test("the head is sent of a stream, and of nothing else", () => {
  const context = contextOf();
  sendHeaders(context);
  sendHeaders({} as HandlerContext);
  let sent = 0;
  context.sendHead = () => sent++;
  sendHeaders({ ...context });
  expect(sent).toBe(1);
});

describe("headers that include trailers", () => {
  test("are the same where there are none", () => {
    const context = contextOf();
    expect(headerWithTrailer(context)).toBe(context.wire.header);
  });

  test("have them with a prefix", () => {
    const context = contextOf();
    context.responseTrailer.set("x-late", "2");
    expect({ ...headerWithTrailer(context) }).toEqual({ "x-own": "1", "trailer-x-late": "2" });
  });
});
