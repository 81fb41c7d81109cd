import {
  createRegistry,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageShape,
  type Registry,
} from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextValues,
  type HandlerContext,
  type Transport,
} from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { BodyBudget, cancellationOf, holdHeaders, RestFailure, sendHeaders } from "connect-gateway";
import {
  AnswerError,
  assertOptions,
  GrpcTransport,
  optionKinds,
  passers,
  passesOn,
  socketError,
  takesBytes,
} from "connect-gateway/client";
import { file_google_rpc_error_details } from "connect-gateway/protos";
import type { Descriptors } from "./descriptors.ts";
import {
  addFields,
  createRequestMetadata,
  defaultRequestMetadata,
  isValidFor,
  type RequestMetadata,
} from "./metadata.ts";

export interface ProxyOptions {
  readonly services: readonly DescService[];
  readonly registry: Registry;
  /** Calls the upstream: of `openGrpcTransport`, `createRestTransport`, or another of Connect. */
  readonly transport: Transport;
  /**
   * Names of request headers that the upstream gets. Those of a connection or a protocol are
   * refused. Where the gateway has `exposePeerAddress`, it also gets the caller's address as
   * `x-forwarded-for`; list that name only if you trust the proxy in front. Default: {@link
   * defaultRequestMetadata}.
   */
  readonly requestMetadata?: readonly string[];
  /** Deadline of a method's calls whose client sets none, in ms. Default: none. */
  readonly timeoutMs?: (method: DescMethod) => number | undefined;
  /** Told the name of a request header that was not passed on, as gRPC cannot carry its value. */
  readonly onDroppedMetadata?: (name: string) => void;
  /** Told when the upstream answers UNIMPLEMENTED: its services may be others by now. */
  readonly onUnimplemented?: () => void;
}

/** Descriptors may be given whole. */
const kinds = optionKinds<ProxyOptions & Descriptors>()({
  "list of objects": "services",
  "list of strings": "broken missing requestMetadata",
  object: "registry transport",
  function: "timeoutMs onDroppedMetadata onUnimplemented",
});

/**
 * Serves services by calls to an upstream, for `routes` of a gateway, also beside services of your own.
 * Between callers who take protobuf and an upstream of `openGrpcTransport`, messages are not parsed,
 * unless the gateway has interceptors, which might look into them.
 * @throws {TypeError} for a wrong option, or a name of `requestMetadata` that cannot be passed on.
 */
export function proxyServices(options: ProxyOptions): (router: ConnectRouter) => void {
  assertOptions("proxyServices", options, kinds, ["services", "transport"]);
  const { services, requestMetadata = defaultRequestMetadata, onDroppedMetadata } = options;
  const metadataOf = createRequestMetadata(requestMetadata, onDroppedMetadata);
  const forwarding = { ...options, metadataOf };
  return (router) => {
    for (const service of services) {
      const implement = (one: DescMethod) => [one.localName, forwardMethod(one, forwarding)];
      const implementation = Object.fromEntries(service.methods.map(implement));
      if (options.transport instanceof GrpcTransport) passers.add(implementation);
      router.service(service, implementation);
    }
  };
}

type Message = MessageShape<DescMessage>;

type Forwarding = ProxyOptions & { readonly metadataOf: RequestMetadata };

/** A caller who takes bytes gets those of the upstream. */
const passing = createContextValues().set(passesOn, true);

function forwardMethod(method: DescMethod, forwarding: Forwarding): unknown {
  const stream = (messages: AsyncIterable<Message>, context: HandlerContext) =>
    callStream(method, messages, forwarding, context);
  switch (method.methodKind) {
    case "unary":
      return (message: Message, context: HandlerContext) =>
        callUnary(method, message, forwarding, context);
    case "server_streaming":
      return (one: Message, context: HandlerContext) => stream(createAsyncIterable([one]), context);
    case "client_streaming":
      return (...call: Parameters<typeof stream>) => onlyOne(stream(...call));
    case "bidi_streaming":
      return stream;
  }
}

async function callUnary(
  method: DescMethod,
  message: Message,
  forwarding: Forwarding,
  context: HandlerContext,
): Promise<Message> {
  try {
    const terms = termsOf(method as DescMethodUnary, message, forwarding, context);
    const answer = await forwarding.transport.unary(...terms);
    addFields(context.responseHeader, answer.header);
    addFields(context.responseTrailer, answer.trailer);
    return answer.message;
  } catch (error) {
    if (error instanceof AnswerError) addFields(context.responseHeader, error.header);
    throw failed(error, forwarding, context);
  }
}

async function* callStream(
  method: DescMethod,
  messages: AsyncIterable<Message>,
  forwarding: Forwarding,
  context: HandlerContext,
): AsyncGenerator<Message> {
  const source = messages[Symbol.asyncIterator]();
  const requests = { [Symbol.asyncIterator]: () => source };
  const next = source.next.bind(source);
  let ofCaller: unknown; // why its next message cannot be read
  source.next = () =>
    next().catch((error) => {
      ofCaller = error;
      throw error;
    });
  try {
    const terms = termsOf(method as DescMethodStreaming, requests, forwarding, context);
    // A client of RPC gets the head when the upstream's comes, however late. REST needs the status, and
    // MCP the comments after a head, without which proxies close a quiet connection.
    const isRpc = context.protocolName !== "rest" && context.protocolName !== "mcp";
    if (isRpc) holdHeaders(context);
    const answer = await forwarding.transport.stream(...terms);
    addFields(context.responseHeader, answer.header);
    if (isRpc) sendHeaders(context); // it may send nothing before
    yield* answer.message;
    addFields(context.responseTrailer, answer.trailer);
  } catch (error) {
    throw ofCaller ?? failed(error, forwarding, context);
  }
}

/** What a transport is called with. */
function termsOf<M extends DescMethod, I>(
  method: M,
  input: I,
  { transport, timeoutMs, metadataOf }: Forwarding,
  context: HandlerContext,
) {
  // Ours needs no AbortSignal, which costs more.
  const isOurs = transport instanceof GrpcTransport;
  const signal = isOurs ? (cancellationOf(context) as AbortSignal) : context.signal;
  // At least 1 for a deadline that has just passed: transports take less for none.
  const left = context.timeoutMs();
  const ms = left === undefined ? timeoutMs?.(method) : Math.max(1, left);
  const values = takesBytes(context) ? passing : undefined;
  // A longer one is more than gRPC's eight digits, which connect-node does not know. The signal ends it.
  const timeout = isOurs || Number(ms) < 1e8 ? ms : undefined;
  return [method, signal, timeout, metadataOf(context), input, values] as const;
}

function failed(error: unknown, forwarding: Forwarding, context: HandlerContext): unknown {
  const forwarded = forwardedError(error, forwarding.registry);
  const isUnknown = forwarded instanceof ConnectError && forwarded.code === Code.Unimplemented;
  if (isUnknown) forwarding.onUnimplemented?.();
  // Any bytes in gRPC of C++. In a browser, connect-es would read them before the status.
  const isOther = error instanceof AnswerError && error.details.length === 0;
  const bytes = isOther && context.protocolName === "grpc" ? error.trailer.get(detailsField) : null;
  // Clients lose the status to what is not even base64.
  if (bytes !== null && isValidFor(detailsField, bytes)) {
    context.responseTrailer.set(detailsField, bytes);
  }
  return forwarded;
}

const detailsField = "grpc-status-details-bin";

/** As clients of gRPC have it: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md. */
async function onlyOne(messages: AsyncIterable<Message>): Promise<Message> {
  const found: Message[] = [];
  for await (const message of messages) if (found.push(message) > 1) break;
  if (found.length === 1) return found[0] as Message;
  const what = found.length === 0 ? "no message" : "more than one message";
  throw new ConnectError(`the upstream answered ${what}`, Code.Unimplemented);
}

const commonDetails = createRegistry(file_google_rpc_error_details);

/** connect-node's words for a response that it cannot read. */
const wrongResponse = /^protocol error: |^failed to parse EndStream/;

/** What the upstream answered, as it is. Addresses of the network are in the cause alone. */
function forwardedError(reason: unknown, registry: Registry): unknown {
  if (reason instanceof ConnectError && reason.isWireError) {
    const { rawMessage, code } = reason;
    const error =
      reason instanceof RestFailure
        ? new RestFailure(reason.status, code, rawMessage)
        : new ConnectError(rawMessage, code);
    error.cause = reason;
    addFields(error.metadata, reason instanceof AnswerError ? reason.trailer : reason.metadata);
    error.details = reason.details.map((detail) => known(detail, registry));
    return error;
  }
  if (!(reason instanceof ConnectError) || BodyBudget.isRefusal(reason)) return reason;
  const { cause, rawMessage } = reason;
  // Without the fields of an answer that is none, such as the page of a proxy in between: its cookies.
  const error = new ConnectError(rawMessage, reason.code, undefined, undefined, cause);
  error.details = reason.details;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  // connect-node has several codes for connections that fail, and names addresses.
  const isOfNetwork = typeof code === "string" && /^(?!ERR_|Z_)|^ERR_(?:TLS|SSL)/.test(code);
  if (isOfNetwork) reason.cause = socketError(cause as Error);
  const own = (text: string, code: Code) =>
    new ConnectError(text, code, undefined, undefined, reason);
  // The status of the code is 429, which asks for a retry.
  const tooLarge = (why: string) =>
    new RestFailure(500, Code.ResourceExhausted, `the upstream's response is too large: ${why}`);
  if (code === "HPE_HEADER_OVERFLOW") return tooLarge("it has headers over 64 KiB");
  const unreadable = (why: string) =>
    own(`the upstream's response cannot be read: ${why}`, Code.Internal);
  // Of HTTP/1.1, unless it was cut.
  if (/^HPE_(?!INVALID_EOF)/.test(`${code}`)) return unreadable((cause as Error).message);
  switch (isOfNetwork ? Code.Unavailable : reason.code) {
    case Code.Unavailable:
      return own("the upstream is away", Code.Unavailable);
    case Code.ResourceExhausted:
      // An overloaded upstream sends ENHANCE_YOUR_CALM, which has the same code.
      return code === "ERR_HTTP2_STREAM_ERROR" ? error : tooLarge(rawMessage);
    case Code.InvalidArgument:
      // connect-node has this code for wrong responses, too, which are not the caller's argument.
      if (typeof code !== "string" && !wrongResponse.test(rawMessage)) return error;
      return unreadable(rawMessage);
    default:
      return error;
  }
}

function known(detail: ConnectError["details"][number], registry: Registry) {
  if ("desc" in detail) return detail;
  const desc = registry.getMessage(detail.type) ?? commonDetails.getMessage(detail.type);
  if (desc === undefined) return detail;
  try {
    return { desc, value: fromBinary(desc, detail.value) };
  } catch {
    return detail; // another type of that name
  }
}
