/** The service that the suite calls. Its proto says what each method must answer. */
import { setTimeout } from "node:timers/promises";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type BidiStreamRequest,
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  type ConformanceService,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  type StreamResponseDefinition,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";
import { answerOnce, createError, describeRequest, type Payload, setMetadata } from "./answer.ts";

/** All methods except `Unimplemented`, which the gateway must answer itself. */
export const conformanceService: Omit<ServiceImpl<typeof ConformanceService>, "unimplemented"> = {
  unary: (request, context) =>
    answerOnce(request.responseDefinition, [anyPack(UnaryRequestSchema, request)], context),

  idempotentUnary: (request, context) =>
    answerOnce(
      request.responseDefinition,
      [anyPack(IdempotentUnaryRequestSchema, request)],
      context,
    ),

  async clientStream(requests, context) {
    const received: Any[] = [];
    let definition: UnaryResponseDefinition | undefined;
    for await (const request of requests) {
      if (received.length === 0) definition = request.responseDefinition;
      received.push(anyPack(ClientStreamRequestSchema, request));
    }
    return answerOnce(definition, received, context);
  },

  async *serverStream(request, context) {
    const { responseDefinition: definition } = request;
    setMetadata(definition, context);
    const received = [anyPack(ServerStreamRequestSchema, request)];
    yield* answerRest(definition, { sent: 0, received }, context);
  },

  async *bidiStream(requests, context) {
    let first: BidiStreamRequest | undefined;
    let received: Any[] = [];
    let sent = 0;
    for await (const request of requests) {
      received.push(anyPack(BidiStreamRequestSchema, request));
      if (first === undefined) {
        first = request;
        setMetadata(first.responseDefinition, context);
      }
      if (!first.fullDuplex) continue;
      const data = first.responseDefinition?.responseData[sent];
      if (data === undefined) break;
      await setTimeout(first.responseDefinition?.responseDelayMs);
      const requestInfo = sent === 0 ? describeRequest(received, context) : { requests: received };
      yield { payload: { data, requestInfo } };
      sent++;
      received = [];
    }
    yield* answerRest(first?.responseDefinition, { sent, received }, context);
  },
};

/** The messages sent and received so far. */
type Progress = { readonly sent: number; readonly received: readonly Any[] };

/** The remaining messages, and then the requested error. */
async function* answerRest(
  definition: StreamResponseDefinition | undefined,
  { sent, received }: Progress,
  context: HandlerContext,
): AsyncGenerator<{ payload: Payload }> {
  if (definition === undefined) return;
  const { responseData, responseDelayMs, error } = definition;
  // Only the first message describes the call.
  let info = sent === 0 ? { requestInfo: describeRequest(received, context) } : {};
  for (const data of responseData.slice(sent)) {
    await setTimeout(responseDelayMs);
    yield { payload: { data, ...info } };
    info = {};
  }
  if (error !== undefined) throw createError(error, info.requestInfo);
}
