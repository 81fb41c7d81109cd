/** Starts a server and connects its parts. */
import { availableParallelism } from "node:os";
import { loadLoggerSoon } from "connect-gateway/logging";
import { openAuthenticator } from "../auth/authenticator.ts";
import { createFirstToken, revokeFirstToken } from "../auth/first-token.ts";
import { openStore } from "../store/open.ts";
import { describeFewCores } from "./few-cores.ts";
import type { Admin } from "./metrics/open.ts";
import { describeOldNode } from "./node-floor.ts";
import { reportObstacles } from "./obstacles.ts";
import { createRateLimits } from "./rate-limit/rate-limits.ts";
import type { Serving } from "./serve.ts";
import { resolveSettings, type ServerOptions, type ServerSettings } from "./settings/settings.ts";
import { type ServiceHooks, serveWithThreads } from "./threads/service.ts";

/** A running plant-store server. */
export interface RunningServer {
  /** Its address with the base path, for calls from this machine. */
  readonly url: string;
  /** The address of its metrics, if they are on. */
  readonly metricsUrl: string | undefined;
  readonly settings: ServerSettings;
  /** The token created by a first start, in plain text. It is stored nowhere else. */
  readonly firstToken: string | undefined;
  /** Resolves if the store or the threads fail permanently. Close the server then. */
  readonly failed: Promise<Error>;
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
 * @param machine Its Node version and cores. Known vulnerabilities of that Node, and too few cores
 * for the threads, are logged.
 * @throws {SettingsError} {@link TokenFileError}, {@link StoreOpenError}, or the system's error
 * if it cannot listen. Nothing is left open then.
 */
export async function startServer(
  { createsFirstToken = true, ...options }: StartOptions = {},
  machine = { nodeVersion: process.versions.node, cores: availableParallelism() },
): Promise<RunningServer> {
  const settings = resolveSettings(options);
  const oldNode = describeOldNode(machine.nodeVersion);
  if (oldNode !== undefined) settings.log.warn(oldNode);
  const fewCores = describeFewCores(settings.threads, machine.cores);
  if (fewCores !== undefined) settings.log.warn(fewCores);
  const failed = Promise.withResolvers<Error>();
  const { auth } = settings;
  const admin = await openAdmin(settings);
  let firstToken: string | undefined;
  try {
    if (createsFirstToken) firstToken = await createFirstToken(auth);
    const hooks = { onFailure: failed.resolve, metrics: admin?.metrics };
    const serving =
      settings.threads === 1
        ? await serveAlone(settings, admin, hooks.onFailure)
        : await serveWithThreads(settings, options, hooks);
    admin?.metrics.watchReadiness(serving.isReady);
    if (options.log === undefined) loadLoggerSoon();
    let closed: Promise<void> | undefined;
    return {
      url: urlOf(settings, serving.port),
      metricsUrl: admin && metricsUrlOf(settings, admin.listener),
      settings,
      firstToken,
      failed: failed.promise,
      close: () => {
        closed ??= serving.close().finally(() => admin?.close());
        return closed;
      },
    };
  } catch (error) {
    if (firstToken !== undefined) await revokeFirstToken(auth);
    await admin?.close();
    throw error;
  }
}

/** @returns undefined if metrics are off. Then nothing is measured. */
async function openAdmin({
  adminHost,
  adminPort,
  threads,
}: ServerSettings): Promise<Admin | undefined> {
  if (adminPort === undefined) return undefined;
  // Loaded only if metrics are on.
  const { openMetrics } = await import("./metrics/open.ts");
  return await openMetrics({ host: adminHost, port: adminPort }, threads === 1 ? 0 : threads);
}

async function serveAlone(
  settings: ServerSettings,
  admin: Admin | undefined,
  onFailure: ServiceHooks["onFailure"],
): Promise<Serving> {
  const opened: (() => void | Promise<void>)[] = [];
  try {
    const authenticator = await openAuthenticator(settings.auth, settings.log.warn);
    opened.push(authenticator.close);
    const opening = openStore(settings.store, {
      onFailure,
      onObstacle: reportObstacles(settings.log),
      observer: admin?.commits,
    });
    opened.push(() => opening.then((store) => store.close(), ignore));
    // The store opens asynchronously; most of the code is loaded meanwhile.
    const [store, { serve }] = await Promise.all([opening, import("./serve.ts")]);
    const rateLimits = createRateLimits(settings);
    return await serve(settings, {
      authenticator,
      store,
      rateLimits,
      metrics: admin?.metrics.main,
    });
  } catch (error) {
    for (const close of opened.reverse()) await close();
    throw error;
  }
}

function ignore(): void {}

function urlOf({ host, tls, basePath }: ServerSettings, port: number): string {
  return `${tls === undefined ? "http" : "https"}://${authorityOf(host, port)}${basePath}`;
}

function metricsUrlOf({ adminHost }: ServerSettings, { address }: Admin["listener"]): string {
  return `http://${authorityOf(adminHost, address.port)}/metrics`;
}

function authorityOf(host: string, port: number): string {
  const anyAddress: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = anyAddress[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `${name}:${port}`;
}
