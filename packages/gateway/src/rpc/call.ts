import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type {
  createHandlerContext,
  HandlerContext,
  MethodImplSpec,
  UnaryRequest,
  UnaryResponse,
} from "@connectrpc/connect";
import {
  transformInvokeImplementation,
  type UniversalHandlerOptions,
} from "@connectrpc/connect/protocol";
import type { Exchange, Response } from "../http/exchange.ts";
import { type CallContext, CallRequest, cancellationOf } from "./context.ts";
import { type ErrorListener, endingError, reportUnexpected } from "./unexpected.ts";

export type UnarySpec = Extract<MethodImplSpec, { kind: "unary" }>;

/** A method that REST can serve as a stream. */
export type StreamSpec = Extract<MethodImplSpec, { kind: "server_streaming" | "client_streaming" }>;

/** The context of a streaming call. */
export type StreamContext = ReturnType<typeof createHandlerContext>;

type Message = MessageShape<DescMessage>;

/** What is called around an implementation. */
type CallOptions = Pick<UniversalHandlerOptions, "requestGate" | "interceptors">;

/** How the protocol of one call reads the request, and what it answers. */
export interface UnaryWire {
  /** Reads and decodes the request message. */
  read(): Message | Promise<Message>;
  /** The response for the message that the implementation answered. */
  write(message: Message): Response | Promise<Response>;
  /** The response for an error, of whatever went wrong in the call. */
  fail(error: unknown): Response | Promise<Response>;
}

/**
 * Serves one unary call, in the order of connect-es: the gate, before one byte of
 * the body is read; then the message; then interceptors and implementation.
 *
 * @throws what `fail` throws.
 */
export async function serveUnary(
  { spec, options }: { readonly spec: UnarySpec; readonly options: CallOptions & ErrorListener },
  exchange: Pick<Exchange, "respond">,
  context: CallContext,
  wire: UnaryWire,
): Promise<void> {
  let response: Response;
  try {
    const passed = options.requestGate?.(context);
    if (passed !== undefined) await passed;
    const request = new CallRequest(context, await context.inTime(wire.read()));
    const answered = await chainFor(spec, options, context, request)(request);
    context.responseHeader.replace(answered.header);
    context.responseTrailer.replace(answered.trailer);
    const written = wire.write(answered.message as Message);
    context.release();
    response = written instanceof Promise ? await written : written;
  } catch (error) {
    const cancellation = cancellationOf(context);
    reportUnexpected(error, options, cancellation);
    const ending = endingError(error, cancellation);
    context.abort(ending);
    response = await wire.fail(ending);
  }
  exchange.respond(response);
}

/** The chain is made anew for each call: an interceptor may keep what belongs to one call. */
function chainFor(
  spec: UnarySpec,
  options: CallOptions,
  context: CallContext,
  request: CallRequest,
): UnaryFn {
  const invoke = async (asked: UnaryRequest): Promise<UnaryResponse> => {
    const answered = await spec.impl(asked.message as never, contextFor(asked, request, context));
    return {
      message: create(spec.method.output, answered as never),
      stream: false,
      method: spec.method,
      service: spec.method.parent,
      header: context.responseHeader,
      trailer: context.responseTrailer,
    };
  };
  let next = invoke as InterceptorFn;
  for (let i = options.interceptors.length - 1; i >= 0; i--) {
    next = options.interceptors[i]?.(next) ?? next;
  }
  return next as UnaryFn;
}

type InterceptorFn = Parameters<CallOptions["interceptors"][number]>[0];

/** What an interceptor makes of a unary call; a stream it sees only of streams. */
type UnaryFn = (request: UnaryRequest) => Promise<UnaryResponse>;

/** What the implementation gets: what an interceptor put into the request comes before our own. */
function contextFor(
  asked: UnaryRequest,
  original: CallRequest,
  context: CallContext,
): HandlerContext {
  if (asked === original) return context;
  const { service, header: requestHeader, signal, contextValues: values } = asked;
  return { ...context, service, requestHeader, signal, values };
}

/**
 * One streaming call: the gate, then interceptors and implementation, which
 * take the messages as they come and answer when they like.
 *
 * @throws what the gate throws; what comes later is thrown by the answer.
 */
export async function callStream(
  spec: StreamSpec,
  options: CallOptions,
  context: StreamContext,
  messages: AsyncIterable<Message>,
): Promise<AsyncIterable<Message>> {
  const passed = options.requestGate?.(context);
  if (passed !== undefined) await passed;
  return transformInvokeImplementation(spec, context, options.interceptors)(messages);
}
