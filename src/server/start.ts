/** Starts a server and connects its parts. */
import { createFirstToken, openAuthenticator, revokeFirstToken } from "connect-gateway-kit/auth";
import { loadLoggerSoon } from "connect-gateway-kit/logging";
import { openTracing } from "connect-gateway-kit/tracing";
import { openStore } from "../store/open.ts";
import type { Admin } from "./metrics/open.ts";
import { reportObstacles, reportUnreachable } from "./obstacles.ts";
import {
  resolveSettings,
  type ServerOptions,
  type ServerSettings,
  tokenPrefix,
} from "./settings.ts";
import { parseStoreUrl } from "./store-url.ts";
import { version } from "./version.ts";

/** A running plant-store server. */
export interface RunningServer {
  /** Its address with the base path, for calls from this machine. */
  readonly url: string;
  /** The address of its metrics, if they are on. */
  readonly metricsUrl: string | undefined;
  readonly settings: ServerSettings;
  /** The token created by a first start, in plain text. It is stored nowhere else. */
  readonly firstToken: string | undefined;
  /** Resolves if the store fails permanently. Close the server then. */
  readonly failed: Promise<Error>;
  /** Reads the token file and the JWKS now. TLS files are read whenever they change. */
  reload(): Promise<void>;
  /** Finishes requests in flight, then closes the store, then the metrics. Idempotent. */
  close(): Promise<void>;
}

export interface StartOptions extends ServerOptions {
  /** Whether to create a token if there is no way to authenticate. Default: true. */
  readonly createsFirstToken?: boolean;
}

/**
 * Starts a server.
 *
 * @throws {SettingsError} {@link TokenFileError}, {@link StoreOpenError}, or the system's error
 * if it cannot listen. Nothing is left open then.
 */
export async function startServer({
  createsFirstToken = true,
  ...options
}: StartOptions = {}): Promise<RunningServer> {
  const settings = resolveSettings(options);
  const failed = Promise.withResolvers<Error>();
  const { auth, log } = settings;
  const admin = await openAdmin(settings);
  const opened: (() => unknown)[] = [() => admin?.close()];
  try {
    const firstToken = createsFirstToken ? await createFirstToken(auth, tokenPrefix) : undefined;
    if (firstToken !== undefined) opened.push(() => revokeFirstToken(auth));
    const authenticator = await openAuthenticator(auth, log.warn);
    const opening = openStore(parseStoreUrl(settings.store), {
      onFailure: failed.resolve,
      onObstacle: reportObstacles(log),
      onUnreachable: reportUnreachable(log, admin?.commits),
      onNotice: log.warn,
      observer: admin?.commits,
    });
    opened.push(() => opening.then((store) => store.close(), ignore));
    // The store opens asynchronously; most of the code is loaded meanwhile.
    const [store, { serve }] = await Promise.all([opening, import("./serve.ts")]);
    const tracing = await openTracing({
      program: { name: "plant-store", version },
      scheme: schemeOf(settings),
      log,
    });
    opened.push(() => tracing?.close());
    // Loads OpenTelemetry.
    const inStore = tracing && (await import("./store-spans.ts")).spanStore(tracing.tracer);
    const parts = { authenticator, store, metrics: admin?.metrics, tracing, inStore };
    const serving = await serve(settings, parts);
    if (admin !== undefined) admin.metrics.isReady = serving.isReady;
    if (options.log === undefined) loadLoggerSoon();
    let closed: Promise<void> | undefined;
    return {
      url: urlOf(settings, serving.port),
      metricsUrl: admin && metricsUrlOf(settings, admin.listener),
      settings,
      firstToken,
      failed: failed.promise,
      reload: authenticator.reload,
      close: () => {
        closed ??= serving.close().finally(() => admin?.close());
        return closed;
      },
    };
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw error;
  }
}

/** @returns undefined if metrics are off. Then nothing is measured. */
async function openAdmin({ adminHost, adminPort }: ServerSettings): Promise<Admin | undefined> {
  if (adminPort === undefined) return undefined;
  // Loaded only if metrics are on.
  const { openMetrics } = await import("./metrics/open.ts");
  return await openMetrics({ host: adminHost, port: adminPort });
}

function ignore(): void {}

function schemeOf({ tls }: ServerSettings): "http" | "https" {
  return tls === undefined ? "http" : "https";
}

function urlOf(settings: ServerSettings, port: number): string {
  const { host, basePath } = settings;
  return `${schemeOf(settings)}://${authorityOf(host, port)}${basePath}`;
}

function metricsUrlOf({ adminHost }: ServerSettings, { address }: Admin["listener"]): string {
  return `http://${authorityOf(adminHost, address.port)}/metrics`;
}

function authorityOf(host: string, port: number): string {
  const anyAddress: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = anyAddress[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `${name}:${port}`;
}
