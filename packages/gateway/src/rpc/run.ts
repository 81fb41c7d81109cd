/** The way of a call of any kind and protocol, in the order of connect-es. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import type { HandlerContext, Interceptor, UnaryRequest } from "@connectrpc/connect";
import type { Response } from "../http/exchange.ts";
import { type Call, type Message, type StreamWire, timedOut } from "./call.ts";
import { type EnvelopeErrors, requestErrors } from "./envelope.ts";
import { type Messages, untilAborted } from "./streams.ts";

type Next = Parameters<Interceptor>[0];

/** Runs one call. @returns its answer, also for an error. @throws if the wire cannot write the error. */
export async function run(call: Call): Promise<Response | Messages> {
  const { wire } = call;
  const { kind } = wire.spec;
  const { requestGate, admit, interceptors } = wire.options;
  try {
    if (!call.isAdmitted) {
      const gate = requestGate?.(call);
      if (gate !== undefined) await call.race(Promise.resolve(gate));
      const admitted = admit?.(call);
      if (admitted !== undefined) await call.race(Promise.resolve(admitted));
    }
    if (call.refusal !== undefined) throw call.refusal;
    if (kind === "unary") call.message = await readOne(call);
    else if (kind === "server_streaming") call.message = readAlone(call);
    else {
      call.exchange.isKept = true;
      call.message = untilAborted((wire as StreamWire).readAll(call), call);
    }
    if (call.deadline !== undefined && performance.now() >= call.deadline) throw timedOut();
    // The chain is made for each call, because an interceptor may keep state of one in its closure.
    let next: Next = implement.bind(undefined, call);
    for (let i = interceptors.length - 1; i >= 0; i--)
      next = (interceptors[i] as Interceptor)(next);
    const { header, trailer, message } = await next(call as unknown as UnaryRequest);
    if (header !== call.responseHeader) call.responseHeader.replace(header);
    if (kind === "server_streaming" || kind === "bidi_streaming") {
      return { messages: message as AsyncIterable<Message>, trailer };
    }
    const answer = call.stream
      ? await only(message as AsyncIterable<Message>, answerErrors)
      : message;
    if (trailer !== call.responseTrailer) call.responseTrailer.replace(trailer);
    const writing = wire.write(call, answer as Message);
    const response = writing instanceof Promise ? await writing : writing;
    if (call.stream) call.abort(undefined);
    else call.release();
    return response;
  } catch (error) {
    return await wire.fail(call, call.fail(error));
  }
}

function readOne(call: Call): Message | Promise<Message> {
  // A body that is there still counts.
  if (call.aborted) setTimeout(() => call.exchange.stopReading(call.reason));
  return call.wire.read(call);
}

async function* readAlone(call: Call): AsyncGenerator<Message> {
  yield await readOne(call);
}

/** Calls the implementation. Changes that an interceptor made to the request take precedence. */
async function implement(call: Call, request: Parameters<Next>[0]): ReturnType<Next> {
  const { spec } = call.wire;
  const { method } = spec;
  let context: HandlerContext = call;
  if ((request as unknown) !== call) {
    const { service, header: requestHeader, signal, contextValues: values } = request;
    context = { ...call, service, requestHeader, signal, values };
  }
  const given = request.message as never;
  let message: unknown;
  if (spec.kind === "unary") {
    message = create(method.output, (await spec.impl(given, context)) as never);
  } else if (spec.kind === "client_streaming") {
    message = created(method.output, [await spec.impl(given, context)]);
  } else {
    const isAlone = spec.kind === "server_streaming";
    const input = isAlone ? await only<never>(given, requestErrors(spec.kind)) : given;
    message = created(method.output, spec.impl(input, context));
  }
  const { stream, service, responseHeader: header, responseTrailer: trailer } = call;
  return { stream, method, service, header, trailer, message } as Awaited<ReturnType<Next>>;
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

async function* created(desc: DescMessage, answers: AsyncIterable<unknown> | readonly unknown[]) {
  for await (const answer of answers) yield create(desc, answer as never);
}

const notAnswered = () => new Error("the method has not answered one message");
const answerErrors = { missing: notAnswered, extra: notAnswered };
