import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type {
  createHandlerContext,
  HandlerContext,
  MethodImplSpec,
  UnaryRequest,
  UnaryResponse,
} from "@connectrpc/connect";
import { transformInvokeImplementation } from "@connectrpc/connect/protocol";
import { type CallContext, CallRequest } from "./call-context.ts";
import type { EndpointOptions } from "./endpoint.ts";

export type UnarySpec = Extract<MethodImplSpec, { kind: "unary" }>;

/** A method that REST can serve as a stream. */
export type StreamSpec = Extract<MethodImplSpec, { kind: "server_streaming" | "client_streaming" }>;

/** The context of a streaming call. */
export type StreamContext = ReturnType<typeof createHandlerContext>;

type Message = MessageShape<DescMessage>;

/**
 * One unary call, in the order of connect-es: the gate, before one byte of the
 * body is read; then the message; then interceptors and implementation.
 *
 * @param read Reads and decodes the request message.
 * @param write Encodes the response message.
 * @throws what any of them throws.
 */
export async function callUnary<T>(
  spec: UnarySpec,
  options: EndpointOptions,
  context: CallContext,
  read: () => Message | Promise<Message>,
  write: (message: Message) => T,
): Promise<T> {
  try {
    const passed = options.requestGate?.(context);
    if (passed !== undefined) await passed;
    const written = write(await invokeUnary(spec, options, context, await read()));
    context.release();
    return written;
  } catch (error) {
    context.abort(error);
    throw error;
  }
}

/** The chain is made anew for each call: an interceptor may keep what belongs to one call. */
async function invokeUnary(
  spec: UnarySpec,
  options: EndpointOptions,
  context: CallContext,
  message: Message,
): Promise<Message> {
  const request = new CallRequest(context, message);
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
  let next = invoke as Parameters<EndpointOptions["interceptors"][number]>[0];
  for (let i = options.interceptors.length - 1; i >= 0; i--) {
    next = options.interceptors[i]?.(next) ?? next;
  }
  const response = await next(request);
  context.responseHeader.replace(response.header);
  context.responseTrailer.replace(response.trailer);
  return response.message as Message;
}

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
  options: EndpointOptions,
  context: StreamContext,
  messages: AsyncIterable<Message>,
): Promise<AsyncIterable<Message>> {
  const passed = options.requestGate?.(context);
  if (passed !== undefined) await passed;
  return transformInvokeImplementation(spec, context, options.interceptors)(messages);
}
