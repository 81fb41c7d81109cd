/** What gate, interceptors and implementation see of a call, as plain comparable values. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues, createContextKey } from "@connectrpc/connect";
import type { Field } from "./case.ts";

export type Observation = Readonly<Record<string, unknown>>;

/** Has a default. The `contextValues` option may set it, and an interceptor may change it. */
export const valueKey = createContextKey("the default", { description: "a value" });

/** The common part of a context and an interceptor's request. */
interface Seen {
  readonly signal: AbortSignal;
  readonly url: string;
  readonly requestMethod: string;
  readonly service: unknown;
  readonly method: unknown;
}

export interface SeenContext extends Seen {
  readonly protocolName: string;
  readonly requestHeader: Headers;
  readonly responseHeader: Headers;
  readonly responseTrailer: Headers;
  readonly values: ContextValues;
  timeoutMs(): number | undefined;
}

export interface SeenRequest extends Seen {
  readonly stream: boolean;
  readonly header: Headers;
  readonly contextValues: ContextValues;
}

export interface SeenResponse {
  readonly stream: boolean;
  readonly header: Headers;
  readonly trailer: Headers;
  readonly service: unknown;
  readonly method: unknown;
}

/** Spread, as applications do: properties that are not the context's own are lost. */
export function observeContext(context: SeenContext): Observation {
  const copy = { ...context };
  return {
    ...observeCommon(copy),
    protocolName: copy.protocolName,
    requestHeader: fieldsOf(copy.requestHeader),
    responseHeader: fieldsOf(copy.responseHeader),
    responseTrailer: fieldsOf(copy.responseTrailer),
    timeoutMs: observeTimeout(copy.timeoutMs?.()),
    value: copy.values?.get(valueKey),
  };
}

export function observeRequest(request: SeenRequest): Observation {
  const copy = { ...request };
  return {
    ...observeCommon(copy),
    stream: copy.stream,
    header: fieldsOf(copy.header),
    value: copy.contextValues?.get(valueKey),
  };
}

export function observeResponse(response: SeenResponse): Observation {
  const { stream, header, trailer, service, method } = { ...response };
  return {
    stream,
    header: fieldsOf(header),
    trailer: fieldsOf(trailer),
    service: nameOf(service),
    method: nameOf(method),
  };
}

function observeCommon({ signal, url, requestMethod, service, method }: Seen): Observation {
  return {
    signal: observeSignal(signal),
    url: withoutPort(url),
    requestMethod,
    service: nameOf(service),
    method: nameOf(method),
  };
}

export function observeSignal(signal: AbortSignal | undefined): unknown {
  if (!(signal instanceof AbortSignal)) return `not a signal: ${typeof signal}`;
  return signal.aborted ? { aborted: observeReason(signal.reason) } : "open";
}

/** An error with all its properties, including its cause. Anything else as text. */
export function observeReason(reason: unknown, depth = 0): unknown {
  if (!(reason instanceof Error)) return `${typeof reason} ${String(reason)}`;
  const own = { class: reason.constructor.name, name: reason.name, message: reason.message };
  const cause = depth < 3 && reason.cause !== undefined && observeReason(reason.cause, depth + 1);
  if (!(reason instanceof ConnectError)) return { ...own, cause };
  const { code, rawMessage, metadata, details } = reason;
  return { ...own, cause, code, rawMessage, metadata: fieldsOf(metadata), details: details.length };
}

/**
 * The remaining time differs from run to run, so this returns its kind, and its value in steps so
 * wide that even a slow machine does not miss one.
 */
function observeTimeout(timeoutMs: number | undefined): unknown {
  if (timeoutMs === undefined) return "none";
  if (Number.isNaN(timeoutMs)) return "NaN";
  const kind = Number.isInteger(timeoutMs) ? "whole" : "fraction";
  if (timeoutMs < 1000) return `${kind}, over or soon`;
  return `${kind}, about ${Math.round(timeoutMs / 20_000) * 20} s`;
}

/** A message as its type and bytes; anything else unchanged. */
export function observeMessage(desc: DescMessage, message: unknown): unknown {
  const type = (message as MessageShape<DescMessage> | undefined)?.$typeName;
  if (type === undefined) return `not a message: ${typeof message} ${JSON.stringify(message)}`;
  try {
    return { type, bytes: Buffer.from(toBinary(desc, message as never)).toString("hex") };
  } catch (error) {
    return { type, broken: observeReason(error) };
  }
}

export function fieldsOf(headers: Headers | undefined): readonly Field[] | string {
  if (!(headers instanceof Headers)) return `not Headers: ${typeof headers}`;
  return [...headers].map(([name, value]) => [name, withoutPort(value)]);
}

/** The two sides listen on different ports. */
export function withoutPort(text: string): string {
  return String(text).replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:port");
}

function nameOf(desc: unknown): unknown {
  return (desc as { toString(): string } | undefined)?.toString();
}
