import { once } from "node:events";
import module from "node:module";
import { isatty } from "node:tty";
import type { CorsOptions } from "connect-gateway";
import { timerMaxMs } from "connect-gateway/limits";
import type { Log } from "connect-gateway/logging";
import type { ServiceMetricsOptions } from "connect-gateway/metrics";
import type { TlsFiles } from "connect-gateway/server";
import { needsFirstToken, openAuthenticator } from "../auth/authenticator.ts";
import { type AuthSettings, hasAuth } from "../auth/settings.ts";
import { listenForStop, notifyReady, shortenCollections } from "../command/process.ts";
import { loadLoggerSoon } from "../logging/logger.ts";
import type { common } from "../settings/common.ts";
import { isThisMachine, localUrl } from "../settings/place.ts";
import type { SettingsOf } from "../settings/schema.ts";
import { openTracing } from "../tracing/open.ts";

type Common = typeof common;

export interface ProgramSettings
  extends SettingsOf<
    Common["listener"] & Common["admin"] & Common["drain"] & Common["log"] & Common["rateLimit"]
  > {
  /** In place of host and port. */
  readonly socketPath?: string | undefined;
  readonly tls: TlsFiles | undefined;
  readonly auth: AuthSettings;
  readonly limits: SettingsOf<Common["limits"]> & { readonly messageValuesMax: number };
  readonly cors: CorsOptions | undefined;
}

export interface ProgramOptions {
  readonly name: string;
  readonly version: string;
  readonly settings: ProgramSettings;
  readonly log: Log;
  readonly naming: Omit<ServiceMetricsOptions, "version">;
}

/** What is off or not configured in it is undefined. */
export type StartedProgram = Awaited<ReturnType<typeof startProgram>>;

/**
 * Opens what any server has beside its services: the port of the metrics, tokens and keys, and
 * traces. `serveOptions` makes the options of the port from it.
 * @throws {TokenFileError} or the system's error if it cannot listen. Nothing is left open then.
 */
export async function startProgram(options: ProgramOptions) {
  const { naming, ...program } = options;
  const { name, version, settings, log } = program;
  const { defer, close } = createClosers();
  try {
    const { metrics, url: metricsUrl } =
      (await openMetrics(settings, { ...naming, version }, defer)) ?? {};
    const authenticator = hasAuth(settings.auth)
      ? await openAuthenticator(settings.auth, log.warn)
      : undefined;
    const scheme = schemeOf(settings);
    const tracing = await openTracing({ program: { name, version }, scheme, log });
    if (tracing !== undefined) defer(tracing.close);
    return { ...program, metrics, metricsUrl, authenticator, tracing, defer, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** AsyncDisposableStack, which Node 22 has not. */
function createClosers() {
  const all: (() => unknown)[] = [];
  let closed: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    const one = all.pop();
    if (one === undefined) return;
    try {
      await one();
    } finally {
      await closeAll();
    }
  }
  return {
    /** Adds something to close, before all that was added earlier. */
    defer: (close: () => unknown) => void all.push(close),
    /** Closes everything, the last first. Idempotent. */
    close: () => (closed ??= closeAll()),
  };
}

async function openMetrics(
  { adminHost: host, adminPort: port }: ProgramSettings,
  options: ServiceMetricsOptions,
  defer: ReturnType<typeof createClosers>["defer"],
) {
  if (port === undefined) return undefined;
  // Loaded only if metrics are on.
  const { openAdmin, ServiceMetrics } = await import("connect-gateway/metrics");
  const metrics = new ServiceMetrics(options);
  defer(metrics.close);
  const listener = await openAdmin({ host, port }, metrics);
  defer(listener.close);
  return { metrics, url: `${localUrl("http", host, listener.address.port)}/metrics` };
}

export function schemeOf({ tls }: Pick<ProgramSettings, "tls">): "http" | "https" {
  return tls === undefined ? "http" : "https";
}

export interface Running {
  announce(): void | Promise<void>;
  /** Told if no token is valid yet. */
  readonly tokenCommand: string;
  /** Reads again what operators may have changed, beside tokens and keys. */
  reload?(): void | Promise<void>;
  /** Resolves if it can serve no more. */
  readonly failed?: Promise<Error>;
}

/** Runs until a signal ends it, or it fails; then drains. A second signal ends the process at once. */
export async function runUntilStopped(program: StartedProgram, running: Running): Promise<void> {
  const { log, settings, authenticator } = program;
  async function reload(): Promise<void> {
    log.info("SIGHUP: reading again what may have changed");
    await running.reload?.();
    await authenticator?.reload();
  }
  // Before anything says that the server runs.
  // A terminal that closes sends SIGHUP to end what runs in it. Elsewhere it asks for a reload.
  using stop = listenForStop(isatty(0) ? undefined : () => void reload());
  shortenCollections();
  loadLoggerSoon();
  await running.announce();
  if (await needsFirstToken(settings.auth))
    log.warn(`no token is valid yet. Create one: ${running.tokenCommand}`);
  const { host, tls, socketPath } = settings;
  const isPublic = socketPath === undefined && !isThisMachine(host);
  const advice = "Set --tls-cert and --tls-key, or terminate TLS in a proxy";
  if (isPublic && tls === undefined)
    log.warn(`${host} is served without TLS: networks can read tokens and messages. ${advice}`);
  if (isPublic && authenticator === undefined && tls?.clientCaFile === undefined) {
    log.warn(`${host} is served without tokens: anybody may call. Set --token-file or --jwks-url`);
  }
  notifyReady((error) => log.warn("systemd was not told of the start", error));
  // Now, because the process may end without running exit handlers.
  module.flushCompileCache();
  await drainWhenStopped(program, stop.signal, running.failed).finally(() => {
    setImmediate(() => process.exit()); // an exporter of spans may wait for its collector
  });
}

/** How long after the drain timeout a stuck process is ended, in ms. */
export const stuckGraceMs = 2000;

async function drainWhenStopped(
  { log, settings, close }: StartedProgram,
  stop: AbortSignal,
  failed: Promise<Error> | undefined,
): Promise<void> {
  /** It may also fail after a signal, up to its end. */
  let failure: Error | undefined;
  const failing = failed?.then((error) => {
    failure = error;
    log.error(`the service has failed${stop.aborted ? "" : ": draining"}`, error);
  });
  const stopped = stop.aborted ? Promise.resolve() : once(stop, "abort");
  await Promise.race(failing === undefined ? [stopped] : [stopped, failing]);
  if (stop.aborted) log.info(`${stop.reason}: draining`);
  // A disk that hangs blocks a clean shutdown. Requests have ended, confirmed plants are durable.
  const stuckMs = Math.min(settings.drainTimeoutMs + stuckGraceMs, timerMaxMs);
  setTimeout(() => {
    log.error("the server hangs: the process kills itself");
    process.kill(process.pid, "SIGKILL");
  }, stuckMs).unref();
  await close();
  if (failure !== undefined) throw failure;
  log.info("stopped");
}
