/** Who is told of calls: metrics, access logs, traces. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Code, ContextValues } from "@connectrpc/connect";
import type { RequestHeaders } from "../http/headers.ts";

/**
 * Told of every request to the gateway, once when it begins and once when it
 * ends, by whatever protocol and however it is served: also of what is refused
 * before any method is called. Not of preflights of CORS, nor of what `fallback`
 * serves.
 *
 * What it throws goes to `onError`, and does nothing to the request.
 */
export interface CallObserver {
  /**
   * The head of a request has come; no gate has seen it yet, and nothing of the
   * body was read.
   *
   * @returns what is told of the end; undefined if nothing wants to know.
   */
  begin(request: ObservedRequest): CallObservation | undefined;
}

export interface ObservedRequest {
  /**
   * The method that is called; undefined where there is none, as behind a 404 or 405. With MCP, it
   * may be known only when the request ends.
   */
  readonly method: DescMethod | undefined;
  /** The path of the route, with variables in braces; undefined where none was found. */
  readonly pathTemplate: string | undefined;
  readonly protocol: ProtocolName;
  /** The method of HTTP, as it was sent. */
  readonly requestMethod: string;
  /** Path and query, raw. */
  readonly target: string;
  /** As Node gives them: lower-case names. Pseudo-headers may be among them. */
  readonly headers: RequestHeaders;
  /** The address at the other end of the connection: of a proxy, where there is one. */
  readonly peerAddress: () => string | undefined;
}

/** One request that has begun. */
export interface CallObservation {
  /** What the answer shall have among its headers, by lower-case names, besides its own. */
  readonly responseHeader?: Readonly<Record<string, string>> | undefined;
  /**
   * A method is about to be called with these values, in which gates and
   * interceptors leave what they know, as who it is that calls.
   */
  calling?(values: ContextValues): void;
  /** The answer was handed over whole, or the client has left. */
  end(ending: CallEnding): void;
}

export interface CallEnding {
  /**
   * What the client got, where it got an error; undefined for success. An answer
   * by the status of HTTP alone has the code that says the same. `Canceled` if
   * the client left before it was answered.
   */
  readonly code: Code | undefined;
  /** The status of HTTP that was sent; undefined if none was. */
  readonly status: number | undefined;
}

/** As connect-es calls them, `rest` and `mcp`. */
export type ProtocolName = "grpc" | "grpc-web" | "connect" | "rest" | "mcp";

/**
 * The protocol of a request, as far as its media type tells.
 *
 * @param isRpcPath Whether its path is that of a method: if it names no protocol
 * there, it is one of Connect.
 */
export function protocolOf(headers: RequestHeaders, isRpcPath: boolean): ProtocolName {
  const type = String(headers["content-type"] ?? "");
  if (grpcWebType.test(type)) return "grpc-web";
  if (grpcType.test(type)) return "grpc";
  return isRpcPath || isConnect(headers, type) ? "connect" : "rest";
}

function isConnect(headers: RequestHeaders, type: string): boolean {
  return connectType.test(type) || headers["connect-protocol-version"] !== undefined;
}

const grpcType = /^application\/grpc/i;
const grpcWebType = /^application\/grpc-web/i;
const connectType = /^application\/(?:connect|proto\b)/i;

/**
 * One observer that stands for several, in their order. What one of them throws
 * goes to `onError`, and the others are told all the same.
 *
 * @returns the only one itself, which costs nothing; undefined for none.
 */
export function composeObservers(
  observers: readonly CallObserver[],
  onError: (error: unknown) => void,
): CallObserver | undefined {
  if (observers.length < 2) return observers[0];

  function each<T, U>(all: readonly T[], tell: (one: T) => U): U[] {
    const said: U[] = [];
    for (const one of all) {
      try {
        said.push(tell(one));
      } catch (error) {
        onError(error);
      }
    }
    return said;
  }

  return {
    begin(request) {
      const observations = each(observers, (observer) => observer.begin(request)).filter(
        (observation) => observation !== undefined,
      );
      return {
        responseHeader: mergeHeaders(observations),
        calling: (values) => void each(observations, (one) => one.calling?.(values)),
        end: (ending: CallEnding) => void each(observations, (one) => one.end(ending)),
      };
    },
  };
}

function mergeHeaders(observations: readonly CallObservation[]): CallObservation["responseHeader"] {
  const headers = observations.flatMap(({ responseHeader }) =>
    Object.entries(responseHeader ?? {}),
  );
  return headers.length === 0 ? undefined : Object.fromEntries(headers);
}
