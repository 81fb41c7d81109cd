/** A store, served at a port: what one thread does. */
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { createBearerGate, requirePrincipal } from "../auth/bearer.ts";
import { createHealthHandlers } from "../gateway/health/handlers.ts";
import {
  type CallObserver,
  cancellationOf,
  composeObservers,
  compressionGzip,
  type GatewayHandler,
  gatewayNodeAdapter,
  type NodeHandler,
  parseRequestTarget,
  requireFields,
} from "../gateway/index.ts";
import { openPort } from "../gateway/server/port.ts";
import type { PlantStore } from "../plant.ts";
import { assertRoom, createPlantService } from "../service.ts";
import { corsOptions } from "./cors.ts";
import { renderPlantError } from "./error-body.ts";
import { inOrder } from "./gate.ts";
import { logFailures } from "./log-failures.ts";
import { createAccessLog } from "./logging/access-log.ts";
import { createLogger } from "./logging/logger.ts";
import type { ThreadMetrics } from "./metrics/thread-metrics.ts";
import { createOpenServices } from "./open-services.ts";
import { createPageHandlers } from "./page/handlers.ts";
import { limitRates } from "./rate-limit/gate.ts";
import type { RateLimits } from "./rate-limit/rate-limits.ts";
import { messageValuesMax } from "./settings/limits.ts";
import type { ServerSettings } from "./settings/settings.ts";
import { assertTlsFiles } from "./settings/tls-files.ts";
import { openTracing } from "./tracing/open.ts";
import type { Tracing } from "./tracing/tracing.ts";
import { version } from "./version.ts";

export interface ServedParts {
  readonly authenticator: Authenticator;
  readonly store: PlantStore;
  /** Default: no limits. */
  readonly rateLimits?: RateLimits;
  /** The other threads of the service, if this one shares the port with them. */
  readonly others?: { isReady(): boolean };
  readonly metrics?: ThreadMetrics | undefined;
}

export interface Serving {
  readonly port: number;
  /** Lets requests under way finish, then closes the parts. */
  close(): Promise<void>;
}

/** @throws {SettingsError} for TLS files; the system's error if it cannot listen. */
export async function serve(settings: ServerSettings, parts: ServedParts): Promise<Serving> {
  const { authenticator, store, others, metrics } = parts;
  const { log } = settings;
  if (settings.tls !== undefined) assertTlsFiles(settings.tls);
  const draining = new AbortController();
  const shutdown = new AbortController();
  const isReady = () => !draining.signal.aborted && store.ready() && others?.isReady() !== false;
  const openServices = createOpenServices({
    services: [PlantService],
    health: settings.health,
    reflection: settings.reflection,
    isReady,
    draining: draining.signal,
    interceptors: [logFailures(log)],
  });
  const tracing = await openTracing({ scheme: settings.tls === undefined ? "http" : "https", log });
  const gateway = createGateway(settings, parts, {
    openServices,
    shutdown: shutdown.signal,
    tracing,
  });
  // What is beside the services, by its exact path: one look for all of it.
  const beside = new Map([
    ...(settings.page ? createPage(settings) : []),
    ...(settings.health ? createHealth(settings, isReady) : []),
  ]);
  const serveRequest: NodeHandler = (request, response) =>
    (beside.get(parseRequestTarget(request.url ?? "").path) ?? gateway)(request, response);
  const handler = Object.assign(serveRequest, { serveStream: gateway.serveStream });
  const port = await openPort({
    host: settings.host,
    port: settings.port,
    isShared: others !== undefined,
    limits: settings.limits,
    tls: settings.tls,
    handler,
    renderError: renderPlantError,
    onTlsError: (error) => log.warn("the old certificate stays in use", error),
    traffic: metrics?.traffic,
  });

  async function close(): Promise<void> {
    const reason = new ConnectError("the server is shutting down", Code.Unavailable);
    draining.abort(reason);
    const cutOff = setTimeout(() => shutdown.abort(reason), settings.drainTimeoutMs);
    // A little longer, so that what was just aborted can still say so.
    await port.drain(settings.drainTimeoutMs + 500);
    clearTimeout(cutOff);
    await store.close();
    authenticator.close();
    await tracing?.close();
  }

  return { port: port.address.port, close };
}

/** At the root, where probes look, and below the base path, which may be all that a proxy lets through. */
function createHealth({ basePath }: ServerSettings, isReady: () => boolean) {
  return createHealthHandlers({ isReady, prefixes: ["", basePath], renderError: renderPlantError });
}

interface GatewayParts {
  readonly openServices: (router: ConnectRouter) => void;
  readonly shutdown: AbortSignal;
  readonly tracing: Tracing | undefined;
}

function createPage({ basePath, log }: ServerSettings): ReadonlyMap<string, NodeHandler> {
  const onError = (error: unknown) => log.error("the page could not be read", error);
  return createPageHandlers({ basePath, version, onError });
}

function createGateway(
  settings: ServerSettings,
  { authenticator, store, metrics, rateLimits = {} }: ServedParts,
  { openServices, shutdown, tracing }: GatewayParts,
): GatewayHandler {
  const { limits, log, basePath } = settings;
  const cors = corsOptions(settings.corsOrigins);
  const bearer = createBearerGate(authenticator.verifiers);
  const onError = (error: unknown) => log.error("a response could not be made", error);
  const observer = composeObservers(createObservers(settings, metrics, tracing), onError);
  const common = {
    ...(cors && { cors }),
    ...(observer && { observer }),
    // gzip alone: Brotli unpacks a few bytes to gigabytes far more cheaply for its sender.
    acceptCompression: [compressionGzip],
    shutdownSignal: shutdown,
    rest: { renderError: renderPlantError },
    onError,
  };
  return gatewayNodeAdapter({
    ...common,
    routes: (router) => {
      router.service(PlantService, createPlantService(store, cancellationOf));
      openServices(router);
    },
    requestPathPrefix: basePath,
    requestGate: inOrder(limitRates(bearer, rateLimits), () => assertRoom(store)),
    exposePeerAddress: rateLimits.perAddress !== undefined,
    interceptors: [
      logFailures(log),
      requirePrincipal,
      requireFields,
      ...(tracing === undefined ? [] : [tracing.inStore]),
    ],
    readMaxBytes: limits.bodyBytesMax,
    readMaxValues: messageValuesMax,
    // Probes, and most tools of gRPC, cannot be told a base path.
    ...(basePath !== "" && { fallback: gatewayNodeAdapter({ ...common, routes: openServices }) }),
  });
}

/** Whoever wants to know of requests; mostly nobody does. */
function createObservers(
  { accessLog, logFormat }: ServerSettings,
  metrics: ThreadMetrics | undefined,
  tracing: Tracing | undefined,
): CallObserver[] {
  const observers: CallObserver[] = metrics === undefined ? [] : [metrics.calls];
  if (tracing !== undefined) observers.push(tracing.calls);
  if (accessLog) {
    const logger = createLogger(logFormat);
    observers.push(createAccessLog((entry) => logger.info(entry, "request"), tracing?.traceIdOf));
  }
  return observers;
}
