/** Where all parts meet. */
import { Code, ConnectError } from "@connectrpc/connect";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import { type Authenticator, openAuthenticator } from "../auth/authenticator.ts";
import { requirePrincipal } from "../auth/bearer.ts";
import { createFirstToken, revokeFirstToken } from "../auth/first-token.ts";
import {
  compressionGzip,
  type GatewayHandler,
  gatewayNodeAdapter,
  type NodeHandler,
  requireFields,
} from "../gateway/index.ts";
import type { PlantStore } from "../plant.ts";
import { createPlantService } from "../service.ts";
import { openStore } from "../store/open.ts";
import { renderPlantError } from "./error-body.ts";
import { createHealthHandler } from "./health.ts";
import { logFailures } from "./log-failures.ts";
import { openPort, type Port } from "./port.ts";
import { resolveSettings, type ServerOptions, type ServerSettings } from "./settings.ts";

/** A plant store that serves. */
export interface RunningServer {
  /** Where it is, base path included, with an address that this machine can call. */
  readonly url: string;
  readonly settings: ServerSettings;
  /** The token made by a first start, in plain text; kept nowhere else. */
  readonly firstToken: string | undefined;
  /** Resolves if the store fails for good; the server should then be closed. */
  readonly failed: Promise<Error>;
  /** Lets requests under way finish, then closes the store. Again: waits for the first. */
  close(): Promise<void>;
}

/**
 * Starts a server.
 *
 * @throws {SettingsError} {@link AuthSettingError}, {@link TokenFileError},
 * {@link StoreOpenError}, or the system's error if it cannot listen. Nothing is left open then.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const settings = resolveSettings(options);
  const { log } = settings;
  const failed = Promise.withResolvers<Error>();
  const { auth } = settings;
  const opened: (() => void | Promise<void>)[] = [];
  try {
    const firstToken = await createFirstToken(auth);
    if (firstToken !== undefined) opened.push(() => revokeFirstToken(auth));
    const authenticator = await openAuthenticator(auth, log.warn);
    opened.push(authenticator.close);
    const store = await openStore(settings.store, { onFailure: failed.resolve });
    opened.push(() => store.close());
    const { url, close } = await serve(settings, authenticator, store);
    return { url, settings, firstToken, failed: failed.promise, close };
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw error;
  }
}

async function serve(
  settings: ServerSettings,
  authenticator: Authenticator,
  store: PlantStore,
): Promise<Pick<RunningServer, "url" | "close">> {
  const { log } = settings;
  let draining = false;
  const shutdown = new AbortController();
  const gateway = createGateway(settings, authenticator, store, shutdown.signal);
  const health = createHealthHandler(() => !draining && store.ready());
  const serveRequest: NodeHandler = (request, response) =>
    (health(request.url ?? "") ?? gateway)(request, response);
  const handler = Object.assign(serveRequest, { serveStream: gateway.serveStream });
  const port = await openPort({
    host: settings.host,
    port: settings.port,
    limits: settings.limits,
    tls: settings.tls,
    handler,
    onTlsError: (error) => log.warn("the old certificate stays in use", error),
  });

  async function close(): Promise<void> {
    draining = true;
    const cutOff = setTimeout(
      () => shutdown.abort(new ConnectError("the server is shutting down", Code.Unavailable)),
      settings.drainTimeoutMs,
    );
    // A little longer, so that what was just aborted can still say so.
    await port.drain(settings.drainTimeoutMs + 500);
    clearTimeout(cutOff);
    await store.close();
    authenticator.close();
  }

  let closed: Promise<void> | undefined;
  return {
    url: urlOf(settings, port),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

function createGateway(
  settings: ServerSettings,
  authenticator: Authenticator,
  store: PlantStore,
  shutdownSignal: AbortSignal,
): GatewayHandler {
  const { limits, log } = settings;
  return gatewayNodeAdapter({
    routes: (router) => {
      router.service(PlantService, createPlantService(store));
    },
    requestPathPrefix: settings.basePath,
    requestGate: authenticator.gate,
    interceptors: [logFailures(log), requirePrincipal, requireFields],
    readMaxBytes: limits.bodyBytesMax,
    // gzip alone: Brotli unpacks a few bytes to gigabytes far more cheaply for its sender.
    acceptCompression: [compressionGzip],
    shutdownSignal,
    rest: { renderError: renderPlantError },
    onError: (error) => log.error("a response could not be made", error),
  });
}

function urlOf({ host, tls, basePath }: ServerSettings, { address }: Port): string {
  const anyAddress: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = anyAddress[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `${tls === undefined ? "http" : "https"}://${name}:${address.port}${basePath}`;
}
