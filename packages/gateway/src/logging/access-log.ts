import type { ContextValues } from "@connectrpc/connect";
import type {
  CallEnding,
  CallObservation,
  CallObserver,
  ObservedRequest,
  ProtocolName,
} from "../adapter/observer.ts";
import { parseRequestTarget } from "../http/target.ts";
import { codeNameOf, methodNameOf } from "../rpc/call-names.ts";
import { reasonOf } from "./reason.ts";
import { requestIdHeader, requestIdKey, requestIdOf } from "./request-id.ts";
import { traceIdOf } from "./trace-parent.ts";

/** One request: nothing of its body, of its query or of its token. */
export interface AccessEntry {
  /** `bookshop.v1.BookService/GetBook`; undefined where none was called. */
  readonly method: string | undefined;
  readonly protocol: ProtocolName;
  /** Of google.rpc: what the client has got. */
  readonly code: string;
  /** Of HTTP; undefined where the client has got none. */
  readonly status: number | undefined;
  /** Of an error: the message that the client got, without what it quotes of the request. */
  readonly reason: string | undefined;
  /** Until the answer was handed to the system. */
  readonly durationMs: number;
  /** Who calls; undefined where that is not known. */
  readonly principal: string | undefined;
  readonly requestId: string;
  /** Of a client that traces, or of our own span. */
  readonly traceId: string | undefined;
  readonly peer: string | undefined;
  /** As HTTP has them. */
  readonly requestMethod: string;
  readonly path: string;
}

/** What strangers, and issuers of JWTs, may fill a line with, so that it stays whole. */
const pathCharactersMax = 200;
const principalCharactersMax = 128;
const requestMethodCharactersMax = 32;

export interface AccessLogOptions {
  readonly write: (entry: AccessEntry) => void;
  /** Whether requests that succeed have no entry. */
  readonly isErrorsOnly: boolean;
  /** Who calls, by what the gate has left in the values of a call. Default: nobody knows. */
  readonly findPrincipal?: ((values: ContextValues) => string | undefined) | undefined;
  /** The trace that a request belongs to. Default: the one that its client names. */
  readonly findTraceId?: FindTraceId | undefined;
}

/** Tells of requests once, when they end; gives each an id, which its client and its upstream get, too. */
export function createAccessLog(options: AccessLogOptions): CallObserver {
  const { findTraceId = ({ headers }) => traceIdOf(headers["traceparent"]) } = options;
  const { findPrincipal = () => undefined } = options;
  const settings = { ...options, findTraceId, findPrincipal };
  return { begin: (request) => new LoggedCall(request, settings) };
}

type FindTraceId = (request: ObservedRequest) => string | undefined;

type LogSettings = AccessLogOptions & {
  readonly findTraceId: FindTraceId;
  readonly findPrincipal: (values: ContextValues) => string | undefined;
};

class LoggedCall implements CallObservation {
  readonly responseHeader: Readonly<Record<string, string>>;
  readonly #request: ObservedRequest;
  readonly #settings: LogSettings;
  readonly #requestId: string;
  readonly #peer: string | undefined;
  readonly #startedAt = performance.now();
  #values: ContextValues | undefined;

  constructor(request: ObservedRequest, settings: LogSettings) {
    this.#request = request;
    this.#settings = settings;
    this.#requestId = requestIdOf(request.headers);
    this.#peer = request.peerAddress(); // which nobody knows once the client has gone
    this.responseHeader = { [requestIdHeader]: this.#requestId };
  }

  calling(values: ContextValues): void {
    this.#values = values;
    values.set(requestIdKey, this.#requestId);
  }

  end({ code, error, status }: CallEnding): void {
    const { write, isErrorsOnly, findTraceId, findPrincipal } = this.#settings;
    if (isErrorsOnly && code === undefined) return;
    const { method, protocol, requestMethod, target } = this.#request;
    const principal = this.#values && findPrincipal(this.#values);
    write({
      method: method && methodNameOf(method),
      protocol,
      code: codeNameOf(code),
      status,
      reason: error && reasonOf(error, method),
      durationMs: Math.round((performance.now() - this.#startedAt) * 1000) / 1000,
      principal: principal?.slice(0, principalCharactersMax),
      requestId: this.#requestId,
      traceId: findTraceId(this.#request),
      peer: this.#peer,
      requestMethod: requestMethod.slice(0, requestMethodCharactersMax),
      path: parseRequestTarget(target).path.slice(0, pathCharactersMax),
    });
  }
}
