import { create, type DescMessage } from "@bufbuild/protobuf";
import type {
  HandlerContext,
  MethodImplSpec,
  StreamRequest,
  StreamResponse,
  UnaryRequest,
  UnaryResponse,
} from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import type { Response } from "../http/exchange.ts";
import { type CallContext, CallRequest, signalOf } from "./context.ts";
import { type EnvelopeErrors, requestErrors } from "./envelope.ts";
import { type ErrorListener, endingError } from "./errors.ts";
import type { Call, Message, StreamWire } from "./protocol.ts";
import { streamAnswer, untilAborted, watchIdle } from "./streams.ts";

export interface Callee {
  readonly spec: MethodImplSpec;
  readonly options: Pick<UniversalHandlerOptions, "requestGate" | "interceptors"> &
    ErrorListener & { readonly streamIdleTimeoutMs?: number };
}

/**
 * Serves one call of any kind and protocol, in the order of connect-es: the gate before the body is
 * read, then the messages, then interceptors and implementation.
 *
 * @throws if the wire cannot write the error.
 */
export async function serveCall(callee: Callee, call: Call | Call<StreamWire>): Promise<void> {
  const { exchange, context, wire } = call;
  const fail = (error: unknown): unknown => {
    const ending = endingError(error, callee.options, signalOf(context));
    context.abort(ending);
    return ending;
  };
  let response: Response | undefined;
  try {
    const passed = call.isAdmitted ? undefined : callee.options.requestGate?.(context);
    if (passed !== undefined) await passed;
    if (wire.refusal !== undefined) throw wire.refusal;
    if (callee.spec.kind === "unary") {
      // Avoids iterables for a single message in each direction.
      const request = new CallRequest(context, await context.inTime(wire.read()), false);
      const answered = (await invoke(callee, context, request)) as UnaryResponse;
      context.responseHeader.replace(answered.header);
      context.responseTrailer.replace(answered.trailer);
      const written = wire.write(answered.message as Message);
      context.release();
      response = written instanceof Promise ? await written : written;
    } else {
      response = await serveStream(callee, call as Call<StreamWire>, fail);
    }
  } catch (error) {
    response = await wire.fail(fail(error));
  }
  if (response !== undefined) exchange.respond(response);
}

/** @returns the response; undefined if it was sent in messages. */
async function serveStream(
  callee: Callee,
  call: Call<StreamWire>,
  fail: (error: unknown) => unknown,
): Promise<Response | undefined> {
  const { exchange, context, wire } = call;
  const { kind } = callee.spec;
  const signal = signalOf(context);
  const moved = watchIdle(signal, callee.options.streamIdleTimeoutMs);
  if (kind !== "server_streaming") exchange.keepOpen();
  const messages =
    kind === "server_streaming"
      ? once(async () => await context.inTime(wire.read()))
      : untilAborted(wire.readAll(), signal, moved);
  const request = new CallRequest(context, messages, true);
  const answered = (await invoke(callee, context, request)) as StreamResponse;
  context.responseHeader.replace(answered.header);
  if (kind === "client_streaming") {
    const message = await only(answered.message as AsyncIterable<Message>, answerErrors);
    context.responseTrailer.replace(answered.trailer);
    const written = await wire.write(message);
    context.abort(undefined);
    return written;
  }
  await streamAnswer(call, answered.message as AsyncIterable<Message>, {
    moved,
    beforeEnd: () => context.responseTrailer.replace(answered.trailer),
    fail,
  });
  context.abort(undefined);
  return undefined;
}

type AnyFn = Parameters<Callee["options"]["interceptors"][number]>[0];

/**
 * Calls interceptors and implementation. Builds the chain for each call, because an interceptor may
 * keep state of one call in its closure.
 */
function invoke({ spec, options }: Callee, context: CallContext, request: CallRequest) {
  const { method } = spec;
  const call = async (asked: UnaryRequest | StreamRequest) => {
    const own = contextFor(asked, request, context);
    const message =
      spec.kind === "unary"
        ? create(method.output, (await spec.impl(asked.message as never, own)) as never)
        : await answersOf(spec, asked.message as AsyncIterable<never>, own);
    return {
      stream: asked.stream,
      message,
      method,
      service: method.parent,
      header: context.responseHeader,
      trailer: context.responseTrailer,
    };
  };
  const first = options.interceptors.reduceRight((next, around) => around(next), call as AnyFn);
  return first(request as unknown as UnaryRequest);
}

/** Calls the implementation of a method that has a stream. */
async function answersOf(
  spec: Exclude<MethodImplSpec, { kind: "unary" }>,
  messages: AsyncIterable<never>,
  context: HandlerContext,
): Promise<AsyncIterable<unknown>> {
  const { output } = spec.method;
  switch (spec.kind) {
    case "client_streaming": {
      const answer = await spec.impl(messages, context);
      return once(async () => create(output, answer as never));
    }
    case "server_streaming": {
      const message = await only(messages, requestErrors(spec.kind));
      return created(output, spec.impl(message, context));
    }
    case "bidi_streaming":
      return created(output, spec.impl(messages, context));
  }
}

/** The context for the implementation. Changes that an interceptor made to the request take precedence. */
function contextFor(
  asked: UnaryRequest | StreamRequest,
  original: CallRequest,
  context: CallContext,
): HandlerContext {
  if ((asked as unknown) === original) return context;
  const { service, header: requestHeader, signal, contextValues: values } = asked;
  return { ...context, service, requestHeader, signal, values };
}

async function* created(desc: DescMessage, answers: AsyncIterable<unknown>) {
  for await (const answer of answers) yield create(desc, answer as never);
}

async function* once<T>(read: () => Promise<T>): AsyncGenerator<T> {
  yield await read();
}

async function only<T>(
  messages: AsyncIterable<T>,
  { missing, extra }: Pick<EnvelopeErrors, "missing" | "extra">,
): Promise<T> {
  const found: T[] = [];
  for await (const message of messages) {
    if (found.push(message) > 1) throw extra();
  }
  if (found.length === 0) throw missing();
  return found[0] as T;
}

const notAnswered = () => new Error("the method has not answered one message");
const answerErrors = { missing: notAnswered, extra: notAnswered };
