/** Streaming calls over REST. */
import { type ConnectError, createHandlerContext } from "@connectrpc/connect";
import { createAsyncIterable, type UniversalServerRequest } from "@connectrpc/connect/protocol";
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import { callStream, type StreamContext, type StreamSpec } from "../../rpc/call.ts";
import { endingError, reportUnexpected } from "../../rpc/unexpected.ts";
import { untilAborted } from "../../rpc/until-aborted.ts";
import { BodyBuffer, bodyOf, bytesOf } from "../../http/body.ts";
import type { Response } from "../../http/exchange.ts";
import { LazyHeaders } from "../../http/headers.ts";
import type { WholeRequest } from "../request/body.ts";
import { readMessage, readMessages } from "../request/request.ts";
import {
  errorResponse,
  messageResponse,
  type StreamResponse,
  streamResponse,
} from "../response/response.ts";
import type { Route, Target } from "../routing/route.ts";

/** Serves one call whose body and answer may be streams. */
export type RestStreamHandler = (
  request: UniversalServerRequest,
  target: Target,
) => Promise<StreamResponse>;

export function createStreamHandler(route: Route, spec: StreamSpec): RestStreamHandler {
  return async (request, target) => {
    const { maxTimeoutMs } = route.options;
    const deadline = parseTimeout(request.header.get("connect-timeout-ms"), maxTimeoutMs);
    const context = createContext(route, request, deadline.timeoutMs);
    try {
      const response = await call(route, spec, {
        request,
        target,
        context,
        refusal: deadline.error,
      });
      const body = finishing(response.body, context);
      // Otherwise a write that waits for the client to read would wait forever after the client has
      // left.
      request.signal.addEventListener("abort", () => void body.return(undefined).catch(() => {}));
      return { ...response, body };
    } catch (error) {
      reportUnexpected(error, route.options, context.signal);
      const ending = endingError(error, context.signal);
      context.abort(ending);
      return streamOf(errorResponse(ending, route.settings, context));
    }
  };
}

interface StreamCall {
  readonly request: UniversalServerRequest;
  readonly target: Target;
  readonly context: StreamContext;
  /** Why to reject the call after the gate has admitted it. */
  readonly refusal: ConnectError | undefined;
}

async function call(
  route: Route,
  spec: StreamSpec,
  { request, target, context, refusal }: StreamCall,
): Promise<StreamResponse> {
  const { options } = route;
  const read = async () => {
    if (refusal !== undefined) throw refusal;
    return await readMessage(route, wholeRequest(request), target);
  };
  if (spec.kind === "server_streaming") {
    const answers = await callStream(spec, options, context, once(read));
    return await streamResponse(route, untilAborted(answers, context.signal), context);
  }
  const messages =
    refusal === undefined
      ? untilAborted(readMessages(route, request, target), context.signal)
      : once(read);
  const answer = await single(await callStream(spec, options, context, messages));
  return streamOf(await messageResponse(route, answer, context));
}

function wholeRequest(request: UniversalServerRequest): WholeRequest {
  const { header } = request;
  return {
    header,
    async readBody({ bytesMax, tooLarge }, parse) {
      if (Number(header.get("content-length")) > bytesMax) throw tooLarge(undefined);
      const body = new BodyBuffer();
      for await (const chunk of bodyOf(request)) {
        if (body.length + chunk.byteLength > bytesMax) throw tooLarge(undefined);
        body.append(chunk);
      }
      return await parse(body.bytes);
    },
  };
}

function createContext(
  { spec, options }: Route,
  request: UniversalServerRequest,
  timeoutMs: number | undefined,
): StreamContext {
  return createHandlerContext({
    ...(timeoutMs !== undefined && { timeoutMs }),
    service: spec.method.parent,
    method: spec.method,
    protocolName: "rest",
    requestMethod: request.method,
    url: request.url,
    requestHeader: request.header,
    requestSignal: request.signal,
    ...(options.shutdownSignal && { shutdownSignal: options.shutdownSignal }),
    ...(request.contextValues && { contextValues: request.contextValues }),
  });
}

async function single<T>(values: AsyncIterable<T>): Promise<T> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  const [value] = all;
  if (value === undefined || all.length > 1) throw new Error("not one answer");
  return value;
}

async function* once<T>(read: () => Promise<T>): AsyncGenerator<T> {
  yield await read();
}

/** Passes the body on. The call ends when the body ends or is no longer read. */
async function* finishing(body: AsyncIterable<Uint8Array>, context: StreamContext) {
  try {
    yield* body;
  } catch (error) {
    context.abort(error);
    throw error;
  } finally {
    context.abort();
  }
}

function streamOf({ status, header, body }: Response): StreamResponse {
  const chunks = body.length === 0 ? [] : [bytesOf(body)];
  return { status, header: new LazyHeaders(header), body: createAsyncIterable(chunks) };
}
