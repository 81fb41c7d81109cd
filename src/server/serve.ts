/** Serves a store on a port. */
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  gatewayNodeAdapter,
  type NodeHandler,
  type RestError,
  requireFields,
} from "connect-gateway";
import { addHealth, createHealthHandlers, Health, type Readiness } from "connect-gateway/health";
import { logFailures } from "connect-gateway/logging";
import { addReflection, ServerReflection, ServerReflectionAlpha } from "connect-gateway/reflection";
import { serve as serveGateway } from "connect-gateway/server";
import { requirePrincipal } from "connect-gateway-kit/auth/bearer";
import type { StartedProgram } from "connect-gateway-kit/program";
import { serveOptions } from "connect-gateway-kit/program/serve-options";
import { assertPortTls } from "connect-gateway-kit/settings";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { PlantStore } from "../plant.ts";
import { assertRoom, createPlantService } from "../service.ts";
import { renderPlantError } from "./error-body.ts";
import { explainUnready } from "./obstacles.ts";
import { createPageHandlers } from "./page/handlers.ts";
import { type ServerSettings, schema } from "./settings.ts";
import { tokenCommand } from "./token-command.ts";
import { version } from "./version.ts";

/** @returns the port. @throws {SettingsError} for TLS files; the system's error if it cannot listen. */
export async function serve(
  program: StartedProgram,
  settings: ServerSettings,
  store: PlantStore,
): Promise<number> {
  const { basePath, health, reflection, log } = settings;
  assertPortTls(settings.tls);
  const draining = new AbortController();
  const isReady = () => !draining.signal.aborted && store.obstacle() === undefined;
  const readiness = { isReady, draining: draining.signal };
  const interceptors = [logFailures(log)];
  /** Health and reflection need no token, and no other interceptor. */
  const open = { requestGate() {}, interceptors };
  const all = [PlantService, ...(health ? [Health] : []), ServerReflection, ServerReflectionAlpha];
  const openServices = (router: ConnectRouter) => {
    if (health) addHealth(router, { ...readiness, services: [PlantService] }, open);
    if (reflection) addReflection(router, { draining: draining.signal, services: all }, open);
  };
  const { common, own } = serveOptions(program);
  const shared = { ...common, rest: { renderError: renderPlantError } };
  const server = await serveGateway({
    ...shared,
    ...own,
    ...(settings.mcp && { mcp: (await import("./mcp.ts")).createTools(settings) }),
    reusePort: settings.reusePort,
    requestPathPrefix: basePath,
    // What stores nothing is served when the queue is full.
    admit(context: HandlerContext) {
      if (context.method === PlantService.method.createPlant) assertRoom(store);
      own.admit?.(context);
    },
    interceptors: [
      ...interceptors,
      requirePrincipal(program.name),
      requireFields,
      // The last before the store. Loads OpenTelemetry.
      ...(program.tracing === undefined
        ? []
        : [(await import("./store-spans.ts")).spanStore(program.tracing.tracer)]),
    ],
    routes: (router) => {
      router.service(PlantService, createPlantService(store));
      openServices(router);
    },
    handlers: () =>
      new Map([
        ...(settings.page ? createPage(settings) : []),
        ...(health ? createHealth(settings, readiness, store) : []),
      ]),
    // Probes, and most gRPC tools, do not support a base path.
    ...(basePath !== "" && { fallback: gatewayNodeAdapter({ ...shared, routes: openServices }) }),
  });
  if (program.metrics !== undefined) program.metrics.isReady = isReady;
  program.defer(() => {
    const drained = server.drain(settings.drainTimeoutMs);
    draining.abort(new ConnectError("the server is shutting down", Code.Unavailable));
    return drained;
  });
  return server.address.port;
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
