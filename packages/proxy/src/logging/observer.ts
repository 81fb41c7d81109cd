import type { ContextValues } from "@connectrpc/connect";
import { type CallObserver, composeObservers } from "connect-gateway";
import { type AccessEntry, type AccessLogOptions, createAccessLog } from "connect-gateway/logging";
import { principalId, principalKey } from "../auth/principal.ts";
import { createLogger } from "./logger.ts";

export interface ObserverParts {
  readonly metrics: { readonly calls: CallObserver } | undefined;
  readonly tracing:
    | { readonly calls: CallObserver; readonly traceIdOf: AccessLogOptions["findTraceId"] }
    | undefined;
  readonly onError: (error: unknown) => void;
}

/** Metrics, traces and the access log of a program; undefined if it has none. */
export function createObserver(
  { accessLog, logFormat }: { readonly accessLog: string; readonly logFormat: string },
  { metrics, tracing, onError }: ObserverParts,
): CallObserver | undefined {
  const observers = [metrics?.calls, tracing?.calls].filter((one) => one !== undefined);
  if (accessLog !== "off") {
    const logger = createLogger(logFormat);
    const write = (entry: AccessEntry) => logger.info(entry, "request");
    const isErrorsOnly = accessLog === "errors";
    const findTraceId = tracing?.traceIdOf;
    observers.push(createAccessLog({ write, isErrorsOnly, findPrincipal, findTraceId }));
  }
  return composeObservers(observers, onError);
}

function findPrincipal(values: ContextValues): string | undefined {
  const principal = values.get(principalKey);
  return principal && principalId(principal);
}
