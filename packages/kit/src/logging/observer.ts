import type { ContextValues } from "@connectrpc/connect";
import { type CallObserver, composeObservers } from "connect-gateway";
import {
  type AccessEntry,
  type AccessLogOptions,
  createAccessLog,
  describeRefusal,
} from "connect-gateway/logging";
import type { TrafficObserver } from "connect-gateway/server";
import type { Logger } from "pino";
import { principalId, principalKey } from "../auth/verifier.ts";
import { getLogger } from "./logger.ts";

/** Metrics, traces and the access log of a program; undefined for those that are off. */
export function createObservers(
  { accessLog, logFormat }: { readonly accessLog: string; readonly logFormat: string },
  metrics: { readonly calls: CallObserver; readonly traffic: TrafficObserver } | undefined,
  tracing:
    | { readonly calls: CallObserver; readonly traceIdOf: AccessLogOptions["findTraceId"] }
    | undefined,
  onError: (error: unknown) => void,
): { readonly observer?: CallObserver; readonly traffic?: TrafficObserver } {
  const observers = [metrics?.calls, tracing?.calls].filter((one) => one !== undefined);
  let traffic = metrics?.traffic;
  if (accessLog !== "off") {
    const logger = getLogger(logFormat);
    const write = (entry: AccessEntry) => logger.info(entry, "request");
    const isErrorsOnly = accessLog === "errors";
    const findTraceId = tracing?.traceIdOf;
    const findPrincipal = (values: ContextValues) => {
      const principal = values.get(principalKey);
      return principal && principalId(principal);
    };
    observers.push(createAccessLog({ write, isErrorsOnly, findPrincipal, findTraceId }));
    traffic = logRefusals(logger, traffic);
  }
  const observer = composeObservers(observers, onError);
  return { ...(observer && { observer }), ...(traffic && { traffic }) };
}

/** Logs requests that were rejected by the rules of HTTP before they became calls. */
function logRefusals(logger: Logger, traffic: TrafficObserver | undefined): TrafficObserver {
  return {
    opened: (socket) => traffic?.opened?.(socket),
    certificateUsed: (expiresAt) => traffic?.certificateUsed?.(expiresAt),
    refused(refusal) {
      traffic?.refused(refusal);
      const described = describeRefusal(refusal);
      if (described !== undefined) logger.info(described, "refused");
    },
  };
}
