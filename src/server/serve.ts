/** Serves a store on a port. */
import { Code, ConnectError, type HandlerContext, type Interceptor } from "@connectrpc/connect";
import {
  BodyBudget,
  cancellationOf,
  compressionGzip,
  gatewayNodeAdapter,
  type NodeHandler,
  type RestError,
  requireFields,
} from "connect-gateway";
import { createHealthHandlers, type Readiness } from "connect-gateway/health";
import { logFailures } from "connect-gateway/logging";
import type { ServiceMetrics } from "connect-gateway/metrics";
import { serve as serveGateway } from "connect-gateway/server";
import { type Authenticator, createBearerGate, requirePrincipal } from "connect-gateway-kit/auth";
import { createObservers } from "connect-gateway-kit/logging";
import { limitRates } from "connect-gateway-kit/rate-limit";
import { assertPortTls, corsOptions } from "connect-gateway-kit/settings";
import type { Tracing } from "connect-gateway-kit/tracing";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { PlantStore } from "../plant.ts";
import { assertRoom, createPlantService } from "../service.ts";
import { renderPlantError } from "./error-body.ts";
import { explainUnready } from "./obstacles.ts";
import { createOpenServices } from "./open-services.ts";
import { createPageHandlers } from "./page/handlers.ts";
import { messageValuesMax, type ServerSettings, schema } from "./settings.ts";
import { tokenCommand } from "./token-command.ts";
import { version } from "./version.ts";

export interface ServedParts {
  readonly authenticator: Authenticator;
  readonly store: PlantStore;
  readonly metrics?: ServiceMetrics | undefined;
  readonly tracing?: Tracing | undefined;
  /** The last interceptor before the store, if calls are traced. */
  readonly inStore?: Interceptor | undefined;
}

export interface Serving {
  readonly port: number;
  /** What `/readyz` says. */
  isReady(): boolean;
  /** Finishes requests in flight, then closes the parts. */
  close(): Promise<void>;
}

/** @throws {SettingsError} for TLS files; the system's error if it cannot listen. */
export async function serve(settings: ServerSettings, parts: ServedParts): Promise<Serving> {
  const { store, tracing } = parts;
  const { basePath, log } = settings;
  assertPortTls(settings.tls);
  const draining = new AbortController();
  const isReady = () => store.obstacle() === undefined;
  const readiness = { isReady, draining: draining.signal };
  const { health, reflection } = settings;
  const interceptors = [logFailures(log)];
  const openServices = createOpenServices({ ...readiness, health, reflection, interceptors });
  const { traffic, ...common } = commonOptions(settings, parts);
  const server = await serveGateway({
    ...common,
    ...gatewayOptions(settings, parts),
    ...(settings.mcp && { mcp: (await import("./mcp.ts")).createTools(settings) }),
    ...portOptions(settings),
    traffic,
    routes: (router) => {
      router.service(PlantService, createPlantService(store, cancellationOf));
      openServices(router);
    },
    handlers: () =>
      new Map([
        ...(settings.page ? createPage(settings) : []),
        ...(health ? createHealth(settings, readiness, store) : []),
      ]),
    // Probes, and most gRPC tools, do not support a base path.
    ...(basePath !== "" && { fallback: gatewayNodeAdapter({ ...common, routes: openServices }) }),
  });

  async function close(): Promise<void> {
    draining.abort(new ConnectError("the server is shutting down", Code.Unavailable));
    await server.drain(settings.drainTimeoutMs);
    await store.close();
    await tracing?.close();
  }

  return {
    port: server.address.port,
    isReady: () => !draining.signal.aborted && isReady(),
    close,
  };
}

/** At the root, where probes look, and under the base path, which may be all that a proxy forwards. */
function createHealth({ basePath }: ServerSettings, readiness: Readiness, store: PlantStore) {
  const prefixes = ["", basePath];
  const renderError = (failure: RestError) =>
    renderPlantError(explainUnready(failure, store.obstacle()));
  return createHealthHandlers({ ...readiness, prefixes, renderError });
}

function createPage({ basePath, log, auth }: ServerSettings): ReadonlyMap<string, NodeHandler> {
  const onError = (error: unknown) => log.error("cannot read the page", error);
  // Strangers need not know where the file is.
  const isDefault = auth.tokenFile === schema.auth.tokenFile.default;
  const command = tokenCommand(isDefault ? auth.tokenFile : "FILE");
  return createPageHandlers({ basePath, version, tokenCommand: command, onError });
}

/** Options of the services at the root and of those under the base path. */
function commonOptions(settings: ServerSettings, { metrics, tracing }: ServedParts) {
  const bodyBudget = new BodyBudget({ bytesMax: settings.limits.bodyBudgetBytes });
  metrics?.watchBodies(bodyBudget);
  const cors = corsOptions(settings.corsOrigins);
  const onError = (error: unknown) => settings.log.error("cannot create a response", error);
  const observers = createObservers(settings, metrics, tracing, onError);
  return {
    ...(cors && { cors }),
    ...observers,
    bodyBudget,
    // Only gzip: a few bytes of Brotli can expand to gigabytes.
    acceptCompression: [compressionGzip],
    rest: { renderError: renderPlantError },
    onError,
  };
}

/** Of the challenge of RFC 6750. */
const realm = "plant-store";

function gatewayOptions(settings: ServerSettings, { authenticator, store, inStore }: ServedParts) {
  const { limits, log, basePath } = settings;
  const bearer = createBearerGate(authenticator.verify, realm);
  return {
    requestPathPrefix: basePath,
    requestGate: limitRates(bearer, settings),
    // What stores nothing is served when the queue is full.
    admit({ method }: Pick<HandlerContext, "method">) {
      if (method === PlantService.method.createPlant) assertRoom(store);
    },
    exposePeerAddress: settings.rateLimitPerAddress > 0,
    interceptors: [
      logFailures(log),
      requirePrincipal(realm),
      requireFields,
      ...(inStore === undefined ? [] : [inStore]),
    ],
    readMaxBytes: limits.bodyBytesMax,
    readMaxValues: messageValuesMax,
  };
}

function portOptions({ host, port, reusePort, limits, tls, log }: ServerSettings) {
  const { bodyBytesMax: _, bodyBudgetBytes: __, ...ofPort } = limits;
  const { connectionsPerAddressMax: perAddress, ...others } = ofPort;
  return {
    ...{ host, port, tls },
    limits: { ...others, ...(perAddress > 0 && { connectionsPerAddressMax: perAddress }) },
    reusePort,
    onTlsError: (error: unknown) =>
      log.warn("cannot load the new certificate; the old one stays in use", error),
  };
}
