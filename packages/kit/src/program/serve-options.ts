/** The options of a port, from the settings that every program has. */
import { BodyBudget, composeObservers, compressionGzip } from "connect-gateway";
import { createAccessLog, describeRefusal } from "connect-gateway/logging";
import type { TrafficObserver } from "connect-gateway/server";
import { createBearerGate } from "../auth/bearer.ts";
import { principalId, principalKey } from "../auth/verifier.ts";
import { getLogger } from "../logging/logger.ts";
import { limitRates } from "../rate-limit/gate.ts";
import type { StartedProgram } from "./start.ts";

export function serveOptions(program: StartedProgram) {
  const { name, settings, log, metrics, authenticator, tracing } = program;
  const { cors, tls, host, port, socketPath, rateLimitPerAddress, limits } = settings;
  const { bodyBytesMax, bodyBudgetBytes, messageValuesMax, ...ofPort } = limits;
  const { connectionsPerAddressMax: perAddress, ...others } = ofPort;
  const bodyBudget = new BodyBudget({ bytesMax: bodyBudgetBytes });
  metrics?.watchBodies(bodyBudget);
  let loggedAt = Number.NEGATIVE_INFINITY;
  const onError = (error: unknown) => {
    // Strangers can cause one with each request: a client that takes no headers.
    if (performance.now() - loggedAt < 1000) return;
    loggedAt = performance.now();
    log.error("cannot create a response", error);
  };
  const access = settings.accessLog === "off" ? undefined : openAccessLog(program);
  const calls = [metrics?.calls, tracing?.calls, access?.calls];
  const observers = calls.filter((one) => one !== undefined);
  const observer = composeObservers(observers, onError);
  const traffic = access?.traffic ?? metrics?.traffic;
  const isGuarded = authenticator !== undefined || rateLimitPerAddress > 0;
  const gate = authenticator ? createBearerGate(authenticator.verify, name) : () => {};
  return {
    /** Of all services. */
    common: {
      ...(cors && { cors }),
      ...(observer && { observer }),
      bodyBudget,
      // Only gzip: a few bytes of Brotli can expand to gigabytes.
      acceptCompression: [compressionGzip],
      onError,
    },
    /** Of the services that are not for strangers, and of the port. */
    own: {
      ...(isGuarded && limitRates(gate, settings)),
      exposePeerAddress: rateLimitPerAddress > 0,
      readMaxBytes: bodyBytesMax,
      readMaxValues: messageValuesMax,
      ...(traffic && { traffic }),
      ...(socketPath === undefined ? { host, port } : { path: socketPath }),
      tls,
      limits: { ...others, ...(perAddress > 0 && { connectionsPerAddressMax: perAddress }) },
      onTlsError: (error: unknown) =>
        log.warn("cannot load the new certificate; the old certificate stays in use", error),
    },
  };
}

function openAccessLog({ settings, metrics, tracing }: StartedProgram) {
  const logger = getLogger(settings.logFormat);
  const counted = metrics?.traffic;
  const calls = createAccessLog({
    write: (entry) => logger.info(entry, "request"),
    isErrorsOnly: settings.accessLog === "errors",
    findPrincipal(values) {
      const principal = values.get(principalKey);
      return principal && principalId(principal);
    },
    findTraceId: tracing?.traceIdOf,
  });
  /** Logs requests that were rejected by the rules of HTTP before they became calls. */
  const traffic: TrafficObserver = {
    ...counted,
    refused(refusal) {
      counted?.refused(refusal);
      const described = describeRefusal(refusal);
      if (described !== undefined) logger.info(described, "refused");
    },
  };
  return { calls, traffic };
}
