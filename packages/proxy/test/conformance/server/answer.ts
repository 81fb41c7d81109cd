/** The answers that the suite requests from a method, in Connect's terms. */
import { setTimeout } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { type Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import {
  ConformancePayload_RequestInfoSchema,
  type ConformancePayloadSchema,
  type Error as ErrorDefinition,
  type Header,
  type StreamResponseDefinition,
  type UnaryResponseDefinition,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";

export type Payload = MessageInitShape<typeof ConformancePayloadSchema>;
export type RequestInfo = MessageInitShape<typeof ConformancePayload_RequestInfoSchema>;

/** The payload of a method that answers once, or the requested error. */
export async function answerOnce(
  definition: UnaryResponseDefinition | undefined,
  requests: readonly Any[],
  context: HandlerContext,
): Promise<{ payload: Payload }> {
  const requestInfo = describeRequest(requests, context);
  setMetadata(definition, context);
  await setTimeout(definition?.responseDelayMs ?? 0);
  const response = definition?.response;
  switch (response?.case) {
    case "error":
      throw createError(response.value, requestInfo);
    case "responseData":
      return { payload: { data: response.value, requestInfo } };
    case undefined:
      return { payload: { requestInfo } };
  }
}

/** What the server saw of the call. */
export function describeRequest(requests: readonly Any[], context: HandlerContext): RequestInfo {
  const timeoutMs = context.timeoutMs();
  const isGet = context.requestMethod === "GET";
  return {
    requestHeaders: describePairs(context.requestHeader),
    requests: [...requests],
    ...(timeoutMs !== undefined && { timeoutMs: BigInt(Math.round(timeoutMs)) }),
    ...(isGet && {
      connectGetInfo: { queryParams: describePairs(new URL(context.url).searchParams) },
    }),
  };
}

export function describePairs(pairs: Iterable<[string, string]>) {
  return [...pairs].map(([name, value]) => ({ name, value: [value] }));
}

/** Sets the requested headers and trailers. */
export function setMetadata(
  definition: UnaryResponseDefinition | StreamResponseDefinition | undefined,
  { responseHeader, responseTrailer }: HandlerContext,
): void {
  append(definition?.responseHeaders ?? [], responseHeader);
  append(definition?.responseTrailers ?? [], responseTrailer);
}

function append(pairs: readonly Header[], target: Headers): void {
  for (const { name, value } of pairs) for (const one of value) target.append(name, one);
}

/** @param requestInfo Added to the error if no message could carry it. */
export function createError(
  { code, message = "", details }: ErrorDefinition,
  requestInfo: RequestInfo | undefined,
): ConnectError {
  const error = new ConnectError(message, code as Code);
  for (const { typeUrl, value } of details) {
    error.details.push({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value });
  }
  if (requestInfo !== undefined) {
    error.details.push({ desc: ConformancePayload_RequestInfoSchema, value: requestInfo });
  }
  return error;
}
