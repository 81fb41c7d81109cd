/** What interceptors see and change of a call of each kind. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, Interceptor } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { collectEndpoints } from "../../src/rpc/endpoint.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "../support/envelope.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";
import { serveEndpoint } from "../support/serve-endpoint.ts";

const kinds = ["echo", "collect", "repeat", "exchange"] as const;
type Kind = (typeof kinds)[number];

/** A call with one message that says "a". Its implementation answers what it is sent. */
async function callBy(
  kind: Kind,
  interceptors: readonly Interceptor[],
  see: (context: HandlerContext) => void = () => {},
) {
  const endpoints = collectEndpoints({ interceptors: [...interceptors] }, (router) => {
    router.service(FieldService, {
      echo(request, context) {
        see(context);
        return request;
      },
      async collect(requests, context) {
        see(context);
        let last = create(EveryFieldSchema);
        for await (const one of requests) last = one;
        return last;
      },
      async *repeat(request, context) {
        see(context);
        yield request;
      },
      async *exchange(requests, context) {
        see(context);
        yield* requests;
      },
    });
  });
  const endpoint = endpoints.find(({ spec }) => spec.method.localName === kind);
  const headers = { "content-type": "application/grpc+json", "x-own": "1" };
  const request = { headers, body: [envelope('{"string":"a"}')] };
  const exchange = Object.assign(createMemoryExchange(request), { keepOpen: vi.fn() });
  if (endpoint !== undefined) await serveEndpoint(endpoint, exchange);
  return exchange;
}

describe.each(kinds)("a call of %s", (kind) => {
  const isStream = kind !== "echo";

  test("tells interceptors whether it is a stream, and may take as long as its messages", async () => {
    const streams: boolean[] = [];
    const look: Interceptor = (next) => async (request) => {
      const response = await next(request);
      streams.push(request.stream, response.stream);
      return response;
    };
    const { response, keepOpen } = await callBy(kind, [look]);
    expect(response).toMatchObject({ status: 200, error: undefined });
    expect(streams).toEqual([isStream, isStream]);
    const isOpen = kind === "collect" || kind === "exchange";
    expect(keepOpen).toHaveBeenCalledTimes(isOpen ? 1 : 0);
  });

  test("is over with its answer: its signal aborts if it was a stream", async () => {
    const signals: AbortSignal[] = [];
    const { call } = await callBy(kind, [], ({ signal }) => signals.push(signal));
    expect(signals.map(({ aborted }) => aborted)).toEqual([isStream]);
    expect(call).toBeUndefined();
  });

  test("has what an interceptor puts into the request, else its own", async () => {
    const seen: unknown[] = [];
    const see = (context: HandlerContext) =>
      seen.push([...context.requestHeader].length, context.signal.reason);
    await callBy(kind, [], see);
    const header = new Headers();
    const signal = AbortSignal.abort("theirs");
    await callBy(kind, [(next) => (request) => next({ ...request, header, signal })], see);
    expect(seen).toEqual([2, undefined, 0, "theirs"]);
  });

  test("has the headers and trailers that an interceptor answers", async () => {
    const replace: Interceptor = (next) => async (request) => {
      const response = await next(request);
      response.header.set("x-old", "1");
      response.trailer.set("x-old", "1");
      const header = new Headers({ "x-new": "header" });
      return { ...response, header, trailer: new Headers({ "x-new": "trailer" }) };
    };
    const { response } = await callBy(kind, [replace]);
    expect(response?.header).toMatchObject({ "x-new": "header" });
    expect(response?.trailer).toMatchObject({ "x-new": "trailer", "grpc-status": "0" });
    expect({ ...response?.header, ...response?.trailer }).not.toHaveProperty("x-old");
  });
});

test.each([0, 2])(
  "a client stream that interceptors answer with %d messages fails",
  async (count) => {
    async function* many() {
      for (let i = 0; i < count; i++) yield create(EveryFieldSchema);
    }
    const answer: Interceptor = (next) => async (request) =>
      ({ ...(await next(request)), message: many() }) as never;
    const { response } = await callBy("collect", [answer]);
    expect(response?.header).toMatchObject({ "grpc-status": "13" });
  },
);
