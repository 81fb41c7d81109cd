import { type ContextValues, createContextKey } from "@connectrpc/connect";
import type { CallObserver, ObservedRequest } from "../adapter/observer.ts";
import type { RequestHeaders } from "../http/headers.ts";
import { parseRequestTarget } from "../http/target.ts";
import type { ProtocolName } from "../rpc/call.ts";
import { codeNameOf, methodNameOf } from "../rpc/call-names.ts";
import { assertOptions, optionKinds } from "../rpc/options.ts";
import { reasonOf } from "./reason.ts";

/** One request: nothing of its body, of its query or of its token. */
export interface AccessEntry {
  /** `bookshop.v1.BookService/GetBook`; undefined where none was called. */
  readonly method: string | undefined;
  readonly protocol: ProtocolName;
  /** The code of google.rpc that the client got. */
  readonly code: string;
  /** Of HTTP; undefined where the client has got none. */
  readonly status: number | undefined;
  /** The message of an error that the client got, without quotations of the request. */
  readonly reason: string | undefined;
  /** Until the answer was handed to the system. */
  readonly durationMs: number;
  /** The caller; undefined if unknown. */
  readonly principal: string | undefined;
  readonly requestId: string;
  /** Of a client that traces, or of our own span. */
  readonly traceId: string | undefined;
  readonly peer: string | undefined;
  readonly requestMethod: string;
  readonly path: string;
}

export interface AccessLogOptions {
  readonly write: (entry: AccessEntry) => void;
  /** Whether requests that succeed have no entry. */
  readonly isErrorsOnly: boolean;
  /** Returns the caller, from the context values that the gate has set. Default: unknown. */
  readonly findPrincipal?: ((values: ContextValues) => string | undefined) | undefined;
  /** The trace that a request belongs to. Default: the one that its client names. */
  readonly findTraceId?: ((request: ObservedRequest) => string | undefined) | undefined;
}

/** Logs each request once, when it ends, with an id that the client and the upstream also get. */
export function createAccessLog(options: AccessLogOptions): CallObserver {
  const kinds = optionKinds<AccessLogOptions>()({
    function: "write findPrincipal findTraceId",
    boolean: "isErrorsOnly",
  });
  assertOptions("createAccessLog", options, kinds, ["write"]);
  const { write, isErrorsOnly, findPrincipal } = options;
  const { findTraceId = ({ headers }) => traceIdOf(headers["traceparent"]) } = options;
  return {
    begin(request) {
      const startedAt = performance.now();
      const requestId = requestIdOf(request.headers);
      const peer = request.peerAddress(); // unknown once the client has left
      let ofCall: ContextValues | undefined;
      return {
        responseHeader: { [requestIdHeader]: requestId },
        calling(values) {
          ofCall = values;
          values.set(requestIdKey, requestId);
        },
        end({ code, error, status }) {
          if (isErrorsOnly && code === undefined) return;
          const { method, protocol, requestMethod, target } = request;
          const principal = ofCall && findPrincipal?.(ofCall);
          // Strangers, and issuers of JWTs, may fill a line with so much, so that it stays whole.
          write({
            method: method && methodNameOf(method),
            protocol,
            code: codeNameOf(code),
            status,
            reason: error && reasonOf(error, method),
            durationMs: Math.round((performance.now() - startedAt) * 1000) / 1000,
            principal: principal?.slice(0, 128),
            requestId,
            traceId: findTraceId(request),
            peer,
            requestMethod: requestMethod.slice(0, 32),
            path: parseRequestTarget(target).path.slice(0, 200),
          });
        },
      };
    },
  };
}

/** Of the request and of its answer, as most proxies write it. */
export const requestIdHeader = "x-request-id";

/** The id of a call's request, where there is an access log. */
export const requestIdKey = createContextKey<string | undefined>(undefined, {
  description: "request id",
});

/** The id that a request has come with, if it is fit for a line and a header; else a new one. */
export function requestIdOf(headers: RequestHeaders): string {
  const given = headers[requestIdHeader];
  return typeof given === "string" && safeId.test(given) ? given : crypto.randomUUID();
}

const safeId = /^[\w.~:+/=@-]{1,128}$/;

/** `traceparent` of W3C Trace Context, section 3.2: to what trace a request belongs. */
export function traceIdOf(traceparent: unknown): string | undefined {
  const [, version, traceId, rest] = form.exec(String(traceparent)) ?? [];
  return version === "00" && rest !== "" ? undefined : traceId; // later versions may say more
}

/** Neither the version ff, nor ids of zeros alone. */
const form = /^(?!ff)([\da-f]{2})-(?!0+-)([\da-f]{32})-(?!0+-)[\da-f]{16}-[\da-f]{2}((?:-.*)?)$/;
