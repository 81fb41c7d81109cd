import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { createHandlerContext, MethodImplSpec } from "@connectrpc/connect";
import {
  invokeUnaryImplementation,
  transformInvokeImplementation,
} from "@connectrpc/connect/protocol";
import type { Endpoint } from "./endpoint.ts";

export type UnarySpec = Extract<MethodImplSpec, { kind: "unary" }>;

export type CallContext = ReturnType<typeof createHandlerContext>;

type Message = MessageShape<DescMessage>;

/**
 * One unary call, in the order of connect-es: the gate, before one byte of the
 * body is read; then the message; then interceptors and implementation.
 *
 * @param read Reads and decodes the request message.
 * @throws what any of them throws.
 */
export async function callUnary(
  spec: UnarySpec,
  options: Endpoint["options"],
  context: CallContext,
  read: () => Promise<Message>,
): Promise<Message> {
  try {
    await passGate(options, context);
    const message = await read();
    return await invokeUnaryImplementation(spec, context, message, options.interceptors);
  } catch (error) {
    context.abort(error);
    throw error;
  } finally {
    context.abort();
  }
}

/**
 * One streaming call: the gate, then interceptors and implementation, which
 * take the messages as they come and answer when they like.
 *
 * @throws what the gate throws; what comes later is thrown by the answer.
 */
export async function callStream(
  spec: Exclude<MethodImplSpec, { kind: "unary" }>,
  options: Endpoint["options"],
  context: CallContext,
  messages: AsyncIterable<Message>,
): Promise<AsyncIterable<Message>> {
  await passGate(options, context);
  return transformInvokeImplementation(spec, context, options.interceptors)(messages);
}

async function passGate({ requestGate }: Endpoint["options"], context: CallContext) {
  const passed = requestGate?.(context);
  if (passed !== undefined) await passed;
}
