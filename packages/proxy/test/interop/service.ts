/** The interop service, for the client of grpc-go. */
import { setTimeout } from "node:timers/promises";
import {
  type Code,
  ConnectError,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { EchoStatus, StreamingOutputCallRequest } from "./gen/grpc/testing/messages_pb.ts";
import type { TestService } from "./gen/grpc/testing/test_pb.ts";

export const testService: Partial<ServiceImpl<typeof TestService>> = {
  emptyCall: () => ({}),

  unaryCall({ responseStatus, responseSize }, context) {
    echoMetadata(context);
    assertWell(responseStatus);
    return { payload: { body: new Uint8Array(responseSize) } };
  },

  async streamingInputCall(requests) {
    let aggregatedPayloadSize = 0;
    for await (const { payload } of requests) aggregatedPayloadSize += payload?.body.length ?? 0;
    return { aggregatedPayloadSize };
  },

  streamingOutputCall: (request) => answersOf(request),

  async *fullDuplexCall(requests, context) {
    echoMetadata(context);
    for await (const request of requests) {
      assertWell(request.responseStatus);
      yield* answersOf(request);
    }
  },
};

async function* answersOf({ responseParameters }: StreamingOutputCallRequest) {
  for (const { size, intervalUs } of responseParameters) {
    await setTimeout(intervalUs / 1000);
    yield { payload: { body: new Uint8Array(size) } };
  }
}

function assertWell(status: EchoStatus | undefined): void {
  if (status !== undefined && status.code !== 0) {
    throw new ConnectError(status.message, status.code as Code);
  }
}

function echoMetadata({ requestHeader, responseHeader, responseTrailer }: HandlerContext): void {
  const initial = requestHeader.get("x-grpc-test-echo-initial");
  if (initial !== null) responseHeader.set("x-grpc-test-echo-initial", initial);
  const trailing = requestHeader.get("x-grpc-test-echo-trailing-bin");
  if (trailing !== null) responseTrailer.set("x-grpc-test-echo-trailing-bin", trailing);
}
