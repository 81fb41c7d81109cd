/** The methods of an upstream, as the gateway calls them: messages go through as they are. */
import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageShape,
  Registry,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { cancellationOf, sendHeaders } from "connect-gateway";
import { AnswerError, type GrpcTransport } from "connect-gateway/client";
import { forwardedError } from "./error.ts";
import { addFields, type RequestMetadata } from "./metadata.ts";

type Message = MessageShape<DescMessage>;

/** How calls to one upstream go out. */
export interface Forwarding {
  readonly transport: GrpcTransport;
  readonly registry: Registry;
  readonly metadataOf: RequestMetadata;
  /** For unary calls without a deadline. */
  readonly timeoutMs?: number;
  readonly onUnimplemented?: (() => void) | undefined;
}

/** The implementation of a method, as `router.service` takes it. */
export function forwardMethod(method: DescMethod, forwarding: Forwarding): unknown {
  switch (method.methodKind) {
    case "unary":
      return (message: Message, context: HandlerContext) =>
        callUnary(method, message, { forwarding, context });
    case "server_streaming":
      return (message: Message, context: HandlerContext) =>
        callStream(method, createAsyncIterable([message]), { forwarding, context });
    case "client_streaming":
      return (messages: AsyncIterable<Message>, context: HandlerContext) =>
        onlyOne(callStream(method, messages, { forwarding, context }));
    case "bidi_streaming":
      return (messages: AsyncIterable<Message>, context: HandlerContext) =>
        callStream(method, messages, { forwarding, context });
  }
}

interface Call {
  readonly forwarding: Forwarding;
  readonly context: HandlerContext;
}

async function callUnary(method: DescMethod, message: Message, call: Call): Promise<Message> {
  const { transport, metadataOf, timeoutMs } = call.forwarding;
  const { context } = call;
  const metadata = metadataOf(context);
  try {
    const answer = await transport.unary(
      method as DescMethodUnary,
      cancellationOf(context),
      context.timeoutMs() ?? timeoutMs,
      metadata,
      message,
    );
    addFields(context.responseHeader, answer.header);
    addFields(context.responseTrailer, answer.trailer);
    return answer.message;
  } catch (error) {
    addErrorHeader(error, context);
    throw failed(error, call);
  }
}

async function* callStream(
  method: DescMethod,
  messages: AsyncIterable<Message>,
  call: Call,
): AsyncGenerator<Message> {
  const { transport, metadataOf } = call.forwarding;
  const { context } = call;
  const metadata = metadataOf(context);
  let isAnswered = false;
  try {
    const answer = await transport.stream(
      method as DescMethodStreaming,
      cancellationOf(context),
      context.timeoutMs(),
      metadata,
      messages,
    );
    addFields(context.responseHeader, answer.header);
    isAnswered = true;
    sendHeaders(context); // the upstream has: a client may wait for them before it sends
    yield* answer.message;
    addFields(context.responseTrailer, answer.trailer);
  } catch (error) {
    if (!isAnswered) addErrorHeader(error, context);
    throw failed(error, call);
  }
}

function addErrorHeader(error: unknown, { responseHeader }: HandlerContext): void {
  if (error instanceof AnswerError) addFields(responseHeader, error.header);
}

function failed(error: unknown, { forwarding: { registry, onUnimplemented } }: Call): unknown {
  const forwarded = forwardedError(error, registry);
  if (forwarded instanceof ConnectError && forwarded.code === Code.Unimplemented) {
    onUnimplemented?.();
  }
  return forwarded;
}

/** As clients of gRPC have it: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md. */
async function onlyOne(messages: AsyncIterable<Message>): Promise<Message> {
  let only: Message | undefined;
  for await (const message of messages) {
    if (only !== undefined) throw notOne("more than one message");
    only = message;
  }
  if (only === undefined) throw notOne("no message");
  return only;
}

function notOne(what: string): ConnectError {
  return new ConnectError(`the upstream answered ${what}`, Code.Unimplemented);
}
