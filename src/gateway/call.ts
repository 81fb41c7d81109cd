import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { createHandlerContext, MethodImplSpec } from "@connectrpc/connect";
import { invokeUnaryImplementation } from "@connectrpc/connect/protocol";
import type { Endpoint } from "./endpoint.ts";

export type UnarySpec = Extract<MethodImplSpec, { kind: "unary" }>;

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
  context: ReturnType<typeof createHandlerContext>,
  read: () => Promise<MessageShape<DescMessage>>,
): Promise<MessageShape<DescMessage>> {
  try {
    const passed = options.requestGate?.(context);
    if (passed !== undefined) await passed;
    const message = await read();
    return await invokeUnaryImplementation(spec, context, message, options.interceptors);
  } catch (error) {
    context.abort(error);
    throw error;
  } finally {
    context.abort();
  }
}
