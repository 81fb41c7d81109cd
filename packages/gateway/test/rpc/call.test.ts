/** The order of one unary call, for any protocol that connect-es does not serve. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import { validateUniversalHandlerOptions } from "@connectrpc/connect/protocol";
import { describe, expect, test, vi } from "vitest";
import { Call, type Wire } from "../../src/rpc/call.ts";
import { collectEndpoints } from "../../src/rpc/endpoint.ts";
import { run } from "../../src/rpc/run.ts";
import { type EveryField, EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "../support/envelope.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";
import { serveEndpoint } from "../support/serve-endpoint.ts";

interface Steps {
  readonly gate?: (context: HandlerContext) => void | Promise<void>;
  readonly read?: () => Promise<EveryField>;
  readonly interceptors?: readonly Interceptor[];
  readonly echo?: (message: EveryField, context: HandlerContext) => unknown;
}

const message = create(EveryFieldSchema, { string: "asked" });

/** A call of Echo, and its context. */
function callEcho({ gate, read = async () => message, interceptors = [], echo }: Steps) {
  const method = FieldService.method.echo;
  const impl = echo ?? ((request: EveryField) => request);
  let answered: unknown;
  const wire = {
    terms: { protocol: "rest" },
    spec: { kind: "unary", method, impl } as unknown as Wire["spec"],
    options: {
      ...validateUniversalHandlerOptions({ interceptors: [...interceptors] }),
      ...(gate && { requestGate: gate }),
    },
    ...{ header: {}, trailer: {}, read },
    write(_call, written) {
      answered = written;
      return { status: 200, header: {}, body: "" };
    },
    fail(_call, error) {
      throw error;
    },
  } satisfies Wire;
  const exchange = createMemoryExchange();
  const context = new Call(wire, exchange);
  return { answer: run(context).then(() => answered as EveryField), context, exchange };
}

describe("a call", () => {
  test("runs the gate, reads, and runs the interceptors and the implementation", async () => {
    const steps: string[] = [];
    const named = (name: string): Interceptor => {
      return (next) => async (request) => {
        steps.push(`${name}: ${(request.message as EveryField).string}`);
        const response = await next(request);
        steps.push(`${name} again: ${(response.message as EveryField).string}`);
        return response;
      };
    };
    const { answer } = callEcho({
      async gate() {
        await Promise.resolve();
        steps.push("gate");
      },
      async read() {
        steps.push("read");
        return message;
      },
      interceptors: [named("outer"), named("inner")],
      echo() {
        steps.push("implementation");
        return { string: "answered" };
      },
    });
    expect((await answer).string).toBe("answered");
    expect(steps).toEqual([
      ...["gate", "read", "outer: asked", "inner: asked", "implementation"],
      ...["inner again: answered", "outer again: answered"],
    ]);
  });

  const refusal = new ConnectError("no", Code.PermissionDenied);
  const refuse = () => {
    throw refusal;
  };
  const rejections: readonly [who: string, steps: Steps][] = [
    ["a gate that throws", { gate: refuse, read: () => Promise.reject(new Error("was read")) }],
    [
      "a gate that rejects",
      { gate: async () => refuse(), read: () => Promise.reject(new Error("was read")) },
    ],
    ["reading", { read: async () => refuse(), echo: () => expect.unreachable() }],
    ["an interceptor", { interceptors: [refuse], echo: () => expect.unreachable() }],
    [
      "an interceptor's call",
      { interceptors: [() => async () => refuse()], echo: () => expect.unreachable() },
    ],
    ["the implementation", { echo: refuse }],
    ["the implementation's promise", { echo: async () => refuse() }],
  ];

  test.each(rejections)("is rejected by %s, and its signal has the reason", async (_who, steps) => {
    const { answer, context } = callEcho(steps);
    await expect(answer).rejects.toBe(refusal);
    expect(context.signal.aborted).toBe(true);
    expect(context.signal.reason).toBe(refusal);
  });
});

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
      for (let i = 0; i < count; i++) yield message;
    }
    const answer: Interceptor = (next) => async (request) =>
      ({ ...(await next(request)), message: many() }) as never;
    const { response } = await callBy("collect", [answer]);
    expect(response?.header).toMatchObject({ "grpc-status": "13" });
  },
);
