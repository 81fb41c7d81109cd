import { type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { LazyHeaders } from "../../src/http/headers.ts";
import {
  type CallContext,
  CallRequest,
  cancellationOf,
  headerWithTrailer,
  noTrailer,
  sendHeaders,
  signalOf,
} from "../../src/rpc/context.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { createCallContext } from "../support/call-context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

interface Given {
  readonly timeoutMs?: number;
  readonly contextValues?: ContextValues;
}

function contextOf(given: Given = {}): CallContext {
  return createCallContext({
    exchange: createMemoryExchange({ target: "/a?b", headers: { "x-asked": "1" } }),
    responseHeader: { "x-own": "1" },
    responseTrailer: noTrailer,
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
  const contextValues = createContextValues();
  expect(contextOf({ contextValues }).values).toBe(contextValues);
});

test("a copy of a context or request has its signal", () => {
  const context = contextOf();
  const request = new CallRequest(context, { $typeName: "a" } as never, false);
  for (const copy of [{ ...context }, { ...request }]) {
    expect(copy.signal).toBe(context.signal);
    expect(Object.keys(copy)).toContain("signal");
  }
});

test("a deadline is told as the time that is left", () => {
  expect(contextOf().timeoutMs()).toBeUndefined();
  const context = contextOf({ timeoutMs: 1000.7 });
  const leftMs = context.timeoutMs();
  expect(leftMs).toBeLessThanOrEqual(1000);
  expect(leftMs).toBeGreaterThan(0);
  expect(Number.isInteger(leftMs)).toBe(true);
  expect(contextOf({ timeoutMs: 0 }).timeoutMs()).toBeLessThanOrEqual(0);
});

describe("what has to come in time", () => {
  test("is the same where there is no deadline, or it is there already", () => {
    const promise = Promise.resolve();
    expect(contextOf().inTime(promise)).toBe(promise);
    expect(contextOf({ timeoutMs: 0 }).inTime("there")).toBe("there");
  });

  test("is given up when the call is, as at its deadline", async () => {
    const context = contextOf({ timeoutMs: 60_000 });
    const late = context.inTime(new Promise(() => {}));
    const reason = new Error("no");
    context.abort(reason);
    await expect(late).rejects.toBe(reason);
  });
});

test("the cancellation of a context is that of its call, else its signal", () => {
  const context = contextOf();
  expect(cancellationOf(context)).toBe(signalOf(context));
  const copy = { ...context };
  expect(cancellationOf(copy)).toBe(context.signal);
});

test("the head is sent of a stream, and of nothing else", () => {
  const context = contextOf();
  sendHeaders(context);
  sendHeaders({} as HandlerContext);
  let sent = 0;
  signalOf(context).sendHead = () => sent++;
  sendHeaders({ ...context });
  expect(sent).toBe(1);
});

describe("headers that include trailers", () => {
  test("are the same where there are none", () => {
    const responseHeader = contextOf().responseHeader;
    const responseTrailer = new LazyHeaders(noTrailer);
    expect(headerWithTrailer({ responseHeader, responseTrailer })).toBe(responseHeader.toNode());
  });

  test.each([
    ["ours", new LazyHeaders(noTrailer)],
    ["others", new Headers()],
  ])("have them with a prefix, in objects that are %s", (_whose, responseTrailer) => {
    responseTrailer.set("x-late", "2");
    for (const responseHeader of [contextOf().responseHeader, new Headers({ "x-own": "1" })]) {
      expect({ ...headerWithTrailer({ responseHeader, responseTrailer }) }).toEqual({
        "x-own": "1",
        "trailer-x-late": "2",
      });
    }
  });
});
