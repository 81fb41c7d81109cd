/** Observers of calls: metrics, access logs, traces. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Code, ConnectError, ContextValues } from "@connectrpc/connect";
import { createErrorListener, guarded } from "../errors/errors.ts";
import type { RequestHeaders } from "../http/headers.ts";
import type { ProtocolName } from "../rpc/call.ts";

/**
 * Observes the beginning and the end of every request, over every protocol, including requests that
 * are rejected before a method is called, but not CORS preflights and what `fallback` serves. Its
 * errors go to `onError` and do not affect the request.
 */
export interface CallObserver {
  /** Called with the head of a request, before the gate and the body. @returns its observation, if any. */
  begin(request: ObservedRequest): CallObservation | undefined;
}

export interface ObservedRequest {
  /**
   * The method that is called; undefined if there is none, as for 404 or 405. With MCP, it may be
   * known only when the request ends.
   */
  readonly method: DescMethod | undefined;
  /** The path of the route, with variables in braces; undefined if none was found. */
  readonly pathTemplate: string | undefined;
  readonly protocol: ProtocolName;
  /** The HTTP method, as sent. */
  readonly requestMethod: string;
  /** Path and query, raw. */
  readonly target: string;
  /** In Node's form, with lower-case names. May include pseudo-headers. */
  readonly headers: RequestHeaders;
  /** The address of the peer of the connection, which may be a proxy. */
  readonly peerAddress: () => string | undefined;
}

/** One request that has begun. */
export interface CallObservation {
  /** Headers to add to the answer, with lower-case names. */
  readonly responseHeader?: Readonly<Record<string, string>> | undefined;
  /** Called before the method, with the values in which gates and interceptors store a user. */
  calling?(values: ContextValues): void;
  /** Called when the answer has been handed over completely, or the client has left. */
  end(ending: CallEnding): void;
}

export interface CallEnding {
  /**
   * The code of the error that the client got; undefined for success. For an answer with only an
   * HTTP status, the equivalent code. `Canceled` if the client left before its answer.
   */
  readonly code: Code | undefined;
  /** The error of that code, for logs. Its message may quote the request. */
  readonly error: ConnectError | undefined;
  /** The HTTP status that was sent, if any. */
  readonly status: number | undefined;
}

/** The protocol of a request, by its media type. If that names none, a path of RPC is Connect's. */
export function protocolOf(headers: RequestHeaders, isRpcPath: boolean): ProtocolName {
  const type = String(headers["content-type"] ?? "");
  if (/^application\/grpc-web/i.test(type)) return "grpc-web";
  if (/^application\/grpc/i.test(type)) return "grpc";
  const isOfConnect = /^application\/(?:connect|proto\b)/i.test(type);
  const isConnect = isOfConnect || headers["connect-protocol-version"] !== undefined;
  return isRpcPath || isConnect ? "connect" : "rest";
}

/**
 * Combines observers, in their order. If one throws, the error goes to `onError` and the others are
 * still called. @returns a single observer as it is; undefined for none.
 */
export function composeObservers(
  observers: readonly CallObserver[],
  onError: (error: unknown) => void,
): CallObserver | undefined {
  if (observers.length < 2) return observers[0];

  const listener = createErrorListener({ onError });
  const each = <T, U>(all: readonly T[], tell: (one: T) => U): NonNullable<U>[] =>
    all.flatMap((one) => guarded(listener, () => tell(one)) ?? []);

  return {
    begin(request) {
      const observations = each(observers, (observer) => observer.begin(request));
      const headers = each(observations, ({ responseHeader }) => responseHeader);
      return {
        ...(headers.length > 0 && { responseHeader: Object.assign({}, ...headers) }),
        calling: (values) => void each(observations, (one) => one.calling?.(values)),
        end: (ending: CallEnding) => void each(observations, (one) => one.end(ending)),
      };
    },
  };
}
