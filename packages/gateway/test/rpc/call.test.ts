/** The order of one unary call, for any protocol that connect-es does not serve. */
import { create } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createContextKey,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { validateUniversalHandlerOptions } from "@connectrpc/connect/protocol";
import { describe, expect, test } from "vitest";
import { type Callee, serveCall } from "../../src/rpc/call.ts";
import { CallContext } from "../../src/rpc/context.ts";
import type { UnaryWire } from "../../src/rpc/protocol.ts";
import { type EveryField, EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

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
  const spec = { kind: "unary", method, impl } as unknown as Callee["spec"];
  const exchange = createMemoryExchange();
  const context = new CallContext({
    exchange,
    method,
    protocolName: "test",
    timeoutMs: undefined,
    shutdownSignal: undefined,
    contextValues: undefined,
    responseHeader: {},
    responseTrailer: {},
  });
  const options = {
    ...validateUniversalHandlerOptions({ interceptors: [...interceptors] }),
    ...(gate && { requestGate: gate }),
  };
  async function call(): Promise<EveryField> {
    let answered: unknown;
    const wire: UnaryWire = {
      refusal: undefined,
      read,
      write(written) {
        answered = written;
        return { status: 200, header: {}, body: "" };
      },
      fail(error) {
        throw error;
      },
    };
    await serveCall({ spec, options }, { exchange, context, wire });
    return answered as EveryField;
  }
  return { answer: call(), context };
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
      "gate",
      "read",
      "outer: asked",
      "inner: asked",
      "implementation",
      "inner again: answered",
      "outer again: answered",
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

  test("passes the gate's context values to everything after it", async () => {
    const key = createContextKey("nobody");
    const seen: string[] = [];
    const { answer, context } = callEcho({
      gate({ values, responseHeader, responseTrailer }) {
        values.set(key, "alice");
        responseHeader.set("x-gate", "header");
        responseTrailer.set("x-gate", "trailer");
      },
      interceptors: [
        (next) => (request) => {
          seen.push(request.contextValues.get(key));
          return next(request);
        },
      ],
      echo(request, { values }) {
        seen.push(values.get(key));
        return request;
      },
    });
    await answer;
    expect(seen).toEqual(["alice", "alice"]);
    expect(context.responseHeader.get("x-gate")).toBe("header");
    expect(context.responseTrailer.get("x-gate")).toBe("trailer");
  });

  test("uses the headers and trailers that an interceptor returns instead", async () => {
    const { answer, context } = callEcho({
      interceptors: [
        (next) => async (request) => {
          const response = await next(request);
          const header = new Headers({ "x-new": "header" });
          const trailer = new Headers({ "x-new": "trailer" });
          return { ...response, header, trailer };
        },
      ],
      echo(request, { responseHeader, responseTrailer }) {
        responseHeader.set("x-old", "header");
        responseTrailer.set("x-old", "trailer");
        return request;
      },
    });
    await answer;
    expect([...context.responseHeader]).toEqual([["x-new", "header"]]);
    expect([...context.responseTrailer]).toEqual([["x-new", "trailer"]]);
  });

  test("completes the implementation's answer to a whole message", async () => {
    const { answer } = callEcho({ echo: () => ({ child: { string: "a" } }) });
    expect(await answer).toEqual(create(EveryFieldSchema, { child: { string: "a" } }));
  });

  test("that succeeds does not abort its signal", async () => {
    const during: boolean[] = [];
    const { answer, context } = callEcho({
      gate: ({ signal }) => void during.push(signal.aborted),
      async echo(request, { signal }) {
        during.push(signal.aborted);
        return request;
      },
    });
    await answer;
    expect(during).toEqual([false, false]);
    expect(context.signal.aborted).toBe(false);
  });
});
