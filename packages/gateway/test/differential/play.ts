/** Runs the script of one call, and records what gate, interceptors and implementation see. */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate, setTimeout } from "node:timers/promises";
import { create, fromJson, type MessageShape } from "@bufbuild/protobuf";
import {
  ConnectError,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import {
  type Observation,
  observeContext,
  observeMessage,
  observeReason,
  observeRequest,
  observeResponse,
  observeSignal,
  valueKey,
} from "./observation.ts";
import type { GateAct, InterceptorAct, Json, Script } from "./script.ts";
import { wrongAnswers } from "./script.ts";
import type { Play } from "./setup.ts";
import { createThrown, setFields } from "./thrown.ts";

export interface ScriptedPlay extends Play {
  readonly seen: Observation[];
  /** Resolves when the implementation is running. */
  readonly called: Promise<void>;
  /** Resolves when everything that was started has ended. */
  readonly settled: () => Promise<void>;
  /** Looks again after the call. */
  lookBack(): void;
}

/** What the application sets up around the handler must reach everything that the handler calls. */
export const around = new AsyncLocalStorage<string>();

type Call = Parameters<Parameters<Interceptor>[0]>[0];
type Answer = Awaited<ReturnType<Parameters<Interceptor>[0]>>;
type Next = (request: Call) => Promise<Answer>;

export function createPlay(script: Script, shutdown: AbortController): ScriptedPlay {
  const { look = "at once", implementation } = script;
  const seen: Observation[] = [];
  const called = Promise.withResolvers<void>();
  const running = new Set<Promise<unknown>>();
  const signals = new Set<AbortSignal>();
  const contexts: HandlerContext[] = [];

  function see(at: string, observation: () => Observation): void {
    if (look === "never") seen.push({ at });
    else if (look === "at once") seen.push({ at, around: around.getStore(), ...observation() });
    else late.push(() => seen.push({ at: `${at}, later`, ...observation() }));
  }
  const late: (() => void)[] = [];

  /** When a signal is first seen before it aborts, its end is awaited. */
  function watch(signal: AbortSignal): void {
    if (look !== "at once" || signals.has(signal)) return;
    signals.add(signal);
    const number = signals.size;
    signal.addEventListener("abort", () => {
      seen.push({ at: `signal ${number} aborted`, reason: observeReason(signal.reason) });
    });
  }

  function gate(context: HandlerContext): void | Promise<void> {
    const act: GateAct = script.gate ?? { do: "pass" };
    see("gate", () => observeContext(context));
    if (act.do === "refuse") contexts.push(context);
    watch(context.signal);
    switch (act.do) {
      case "announce":
        contexts.push(context);
        called.resolve();
        return act.wait ? aborted(context.signal) : undefined;
      case "pass":
        return act.async ? setImmediate() : undefined;
      case "set":
        setFields(context.responseHeader, act.headers);
        setFields(context.responseTrailer, act.trailers);
        return;
      case "change request":
        setFields(context.requestHeader, act.headers);
        return;
      case "refuse": {
        const thrown = createThrown(act.error);
        if (act.async) return Promise.reject(thrown);
        throw thrown;
      }
    }
  }

  function interceptor(index: number): Interceptor {
    return (next) => {
      const act = script.interceptors?.[index] ?? { do: "look" };
      // They wrap every call again: the variables of an interceptor belong to one call.
      seen.push({ at: `interceptor ${index} wraps` });
      if (act.do === "refuse" && act.when === "wrapping") {
        throw createThrown(act.error);
      }
      const wrapped: typeof next = (request) => {
        see(`interceptor ${index}`, () => ({
          ...observeRequest(request),
          ...(!request.stream && {
            message: observeMessage(request.method.input, request.message),
          }),
        }));
        watch(request.signal);
        return play(act, request, async (forward) => {
          const response = await next(forward);
          see(`interceptor ${index}, response`, () => ({
            ...observeResponse(response),
            ...(!response.stream && {
              message: observeMessage(response.method.output, response.message),
            }),
            sameHeader: contexts.some(({ responseHeader }) => responseHeader === response.header),
          }));
          return response;
        });
      };
      return wrapped;
    };
  }

  function setAll(context: HandlerContext): void {
    const { headers, trailers, appended = [], deleted = [], value } = implementation;
    setFields(context.responseHeader, headers);
    setFields(context.responseTrailer, trailers);
    for (const [name, text] of appended) {
      context.responseHeader.append(name, text);
      context.responseTrailer.append(name, text);
    }
    for (const name of deleted) {
      context.responseHeader.delete(name);
      context.responseTrailer.delete(name);
    }
    if (value !== undefined) context.values.set(valueKey, value);
  }

  async function implement(message: unknown, context: HandlerContext): Promise<unknown> {
    const { ends } = implementation;
    switch (ends.do) {
      case "echo":
        if (ends.async) await setImmediate();
        return message;
      case "answer":
        return answerOf(context.method.output, ends.message);
      case "answer wrongly":
        return wrongAnswers[ends.with]();
      case "throw":
        if (ends.async) await setImmediate();
        throw createThrown(ends.error);
      case "wait":
        await aborted(context.signal);
        if (ends.end === "throw reason") throw context.signal.reason;
        if (ends.end === "throw other") throw new Error("something else");
        return message;
      case "shut down":
        shutdown.abort(new Error("shut down"));
        if (ends.end === "throw reason") throw context.signal.reason;
        return message;
      case "wait a moment":
        await setTimeout(40);
        seen.push({ at: "a moment later", signal: observeSignal(context.signal) });
        return message;
    }
  }

  function enter(context: HandlerContext, message?: unknown): void {
    contexts.push(context);
    see("implementation", () => ({
      ...observeContext(context),
      ...(message !== undefined && { message: observeMessage(context.method.input, message) }),
    }));
    if (look === "at once") watch(context.signal);
    called.resolve();
  }

  async function* stream(messages: AsyncIterable<unknown>, context: HandlerContext) {
    const ended = Promise.withResolvers<void>();
    running.add(ended.promise);
    try {
      enter(context);
      setAll(context);
      let count = 0;
      for await (const message of messages) {
        see("message", () => ({ message: observeMessage(context.method.input, message) }));
        if (count++ < (implementation.after ?? 0)) yield message;
        else yield await implement(message, context);
      }
    } finally {
      ended.resolve();
    }
  }

  return {
    seen,
    shutdown,
    called: called.promise,
    gate,
    interceptor,
    stream,
    implementation(message, context) {
      enter(context, message);
      const { ends } = implementation;
      if (ends.do === "throw" && !ends.async && implementation.headers === undefined) {
        throw createThrown(ends.error);
      }
      setAll(context);
      const answer = implement(message, context);
      running.add(answer);
      return answer;
    },
    settled: async () => void (await Promise.allSettled(running)),
    lookBack() {
      for (const observe of late) observe();
      for (const { signal, timeoutMs } of look === "never" ? [] : contexts) {
        seen.push({
          at: "afterwards",
          signal: observeSignal(signal),
          timeoutMs: typeof timeoutMs(),
        });
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function answerOf(desc: HandlerContext["method"]["output"], json: Json): MessageShape<typeof desc> {
  return fromJson(desc, json as never);
}

/** @param next Continues the call and observes its result. */
function play(act: InterceptorAct, request: Call, next: Next): Promise<Answer> {
  switch (act.do) {
    case "look":
      return next(request);
    case "refuse":
      if (act.when === "sync") throw createThrown(act.error);
      return refuse(act, request, next);
    default:
      return change(act, request, next);
  }
}

async function refuse(
  { error, when }: Extract<InterceptorAct, { do: "refuse" }>,
  request: Call,
  next: Next,
): Promise<Answer> {
  if (when === "after") await next(request);
  throw createThrown(error);
}

async function change(
  act: Exclude<InterceptorAct, { do: "look" | "refuse" }>,
  request: Call,
  next: Next,
): Promise<Answer> {
  const { method } = request;
  switch (act.do) {
    case "set": {
      setFields(request.header, act.request);
      const response = await next(request);
      setFields(response.header, act.header);
      setFields(response.trailer, act.trailer);
      return response;
    }
    case "replace request": {
      const header = new Headers(act.headers as [string, string][]);
      const contextValues = createContextValues().set(valueKey, "replaced");
      const signal = AbortSignal.abort(new Error("the interceptor's own"));
      return await next({ ...request, header, contextValues, signal });
    }
    case "replace response": {
      const response = await next(request);
      const header = new Headers(act.header as [string, string][]);
      const trailer = new Headers(act.trailer as [string, string][]);
      return { ...response, header, trailer };
    }
    case "change request message":
      return await next(withMessage(request, answerOf(method.input, act.message)));
    case "change response message": {
      const message = act.partial ? act.message : answerOf(method.output, act.message);
      return withMessage(await next(request), message);
    }
    case "delay": {
      await setImmediate();
      const response = await next(request);
      await setImmediate();
      return response;
    }
    case "answer": {
      const header = new Headers(act.header as [string, string][]);
      return own(request, header, answerOf(method.output, act.message));
    }
    case "recover":
      return await recover(request, next, create(method.output, act.message as never));
    case "call twice":
      // The messages of a stream come once.
      if (!request.stream) await next(request);
      return await next(request);
    case "set value":
      request.contextValues.set(valueKey, act.value);
      return await next(request);
  }
}

/** The same, with another message in the place of each. */
function withMessage<T extends Call | Answer>(of: T, message: unknown): T {
  if (!of.stream) return { ...of, message };
  async function* others(messages: AsyncIterable<unknown>) {
    for await (const _ of messages) yield message;
  }
  return { ...of, message: others(of.message) };
}

/** An answer of one message, whoever else would answer. */
function own(request: Call, header: Headers, message: unknown): Answer {
  const { stream, service, method } = request;
  async function* alone() {
    yield message;
  }
  const trailer = new Headers({ "x-own": "1" });
  return {
    stream,
    service,
    method,
    header,
    trailer,
    message: stream ? alone() : message,
  } as Answer;
}

/** Answers where the call fails: of a stream, as it ends. */
async function recover(request: Call, next: Next, message: unknown): Promise<Answer> {
  try {
    const response = await next(request);
    if (!response.stream) return response;
    async function* recovered(messages: AsyncIterable<unknown>) {
      try {
        yield* messages;
      } catch {
        yield message;
      }
    }
    return { ...response, message: recovered(response.message) as never };
  } catch (error) {
    const text = ConnectError.from(error).rawMessage.slice(0, 20);
    const { trailer: _trailer, ...rest } = own(
      request,
      new Headers({ "x-recovered": text }),
      message,
    );
    return { ...rest, trailer: new Headers() } as Answer;
  }
}
