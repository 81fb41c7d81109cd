/** What interceptors see and change of a call of each kind. */
import type { HandlerContext, Interceptor } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createEchoService, openFields } from "../support/echo.ts";
import { envelope } from "../support/envelope.ts";

const kinds = ["Echo", "Collect", "Repeat", "Exchange"] as const;
type Kind = (typeof kinds)[number];

/** The answer to a call with one message, and the context of its implementation. */
async function callBy(kind: Kind, interceptor: Interceptor, mayFail = false) {
  const contexts: HandlerContext[] = [];
  const echo = createEchoService();
  const watched = kinds.map((one) => {
    const name = one.toLowerCase() as keyof typeof echo;
    const implementation = echo[name] as (message: unknown, context: HandlerContext) => unknown;
    const watch: typeof implementation = (message, context) => {
      contexts.push(context);
      return implementation(message, context);
    };
    return [name, watch];
  });
  await using gateway = await openFields(Object.fromEntries(watched), {
    ...{ mayFail, interceptors: [interceptor] },
  });
  const { headers, trailers } = await gateway.send({
    ...{ version: "2", path: `/library.v1.FieldService/${kind}` },
    headers: { "content-type": "application/grpc+json", "x-own": "1" },
    body: envelope('{"string":"a"}'),
  });
  const status = trailers.get("grpc-status") ?? headers.get("grpc-status");
  return { status, headers, trailers, context: contexts[0] ?? expect.unreachable() };
}

describe.each(kinds)("a call of %s", (kind) => {
  const isStream = kind !== "Echo";

  test("tells interceptors whether it is a stream, whose signal aborts with its answer", async () => {
    const streams: boolean[] = [];
    const { status, context } = await callBy(kind, (next) => async (request) => {
      const response = await next(request);
      streams.push(request.stream, response.stream);
      return response;
    });
    expect([status, ...streams]).toEqual(["0", isStream, isStream]);
    expect(context.signal.aborted).toBe(isStream);
  });

  test("has what an interceptor puts into the request, else its own", async () => {
    const own = await callBy(kind, (next) => next);
    const signal = AbortSignal.abort("theirs");
    const header = new Headers();
    const theirs = await callBy(kind, (next) => (request) => next({ ...request, header, signal }));
    expect([own, theirs].map(({ context }) => context.requestHeader.get("x-own"))).toEqual([
      ...["1", null],
    ]);
    expect([own.context.signal.aborted, theirs.context.signal.reason]).toEqual([
      ...[isStream, "theirs"],
    ]);
  });

  test("has the headers and trailers that an interceptor answers", async () => {
    const { status, headers, trailers } = await callBy(kind, (next) => async (request) => {
      const response = await next(request);
      response.header.set("x-old", "1");
      response.trailer.set("x-old", "1");
      const header = new Headers({ "x-new": "header" });
      for (const cookie of ["a=1", "b=2"]) header.append("set-cookie", cookie);
      return { ...response, header, trailer: new Headers({ "x-new": "trailer" }) };
    });
    expect([headers.get("x-new"), trailers.get("x-new"), status]).toEqual([
      ...["header", "trailer", "0"],
    ]);
    expect([headers.has("x-old"), trailers.has("x-old")]).toEqual([false, false]);
    expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });
});

test.each([0, 2])("a client stream whose interceptors give %d messages fails", async (count) => {
  const answer: Interceptor = (next) => async (request) => {
    const { message, ...rest } = await next(request);
    async function* many() {
      for await (const one of message as AsyncIterable<object>) yield* Array(count).fill(one);
    }
    return { ...rest, message: many() } as never;
  };
  expect((await callBy("Collect", answer, true)).status).toBe("13");
});
