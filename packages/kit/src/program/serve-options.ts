/** The options of a port, from the settings that every program has. */
import { BodyBudget, compressionGzip } from "connect-gateway";
import { createBearerGate } from "../auth/bearer.ts";
import { createObservers } from "../logging/observer.ts";
import { limitRates } from "../rate-limit/gate.ts";
import type { StartedProgram } from "./start.ts";

export function serveOptions(program: StartedProgram) {
  const { name, settings, log, metrics, authenticator, tracing } = program;
  const { cors, tls, host, port, socketPath, rateLimitPerAddress, limits } = settings;
  const { bodyBytesMax, bodyBudgetBytes, messageValuesMax, ...ofPort } = limits;
  const { connectionsPerAddressMax: perAddress, ...others } = ofPort;
  const bodyBudget = new BodyBudget({ bytesMax: bodyBudgetBytes });
  metrics?.watchBodies(bodyBudget);
  const onError = (error: unknown) => log.error("cannot create a response", error);
  const { traffic, ...observers } = createObservers(settings, metrics, tracing, onError);
  const isGuarded = authenticator !== undefined || rateLimitPerAddress > 0;
  const gate = authenticator ? createBearerGate(authenticator.verify, name) : () => {};
  return {
    /** Of all services. */
    common: {
      ...(cors && { cors }),
      ...observers,
      bodyBudget,
      // Only gzip: a few bytes of Brotli can expand to gigabytes.
      acceptCompression: [compressionGzip],
      onError,
    },
    /** Of the services that are not for strangers, and of the port. */
    own: {
      ...(isGuarded && { requestGate: limitRates(gate, settings) }),
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
