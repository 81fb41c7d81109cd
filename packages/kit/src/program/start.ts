import type { CorsOptions } from "connect-gateway";
import type { Log } from "connect-gateway/logging";
import type { ServiceMetrics, ServiceMetricsOptions } from "connect-gateway/metrics";
import type { TlsFiles } from "connect-gateway/server";
import { type Authenticator, openAuthenticator } from "../auth/authenticator.ts";
import { type AuthSettings, hasAuth } from "../auth/settings.ts";
import type {
  adminSettings,
  drainSettings,
  limitSettings,
  listenerSettings,
  logSettings,
  rateLimitSettings,
} from "../settings/common.ts";
import { localUrl } from "../settings/place.ts";
import type { ValuesOf } from "../settings/setting.ts";
import { openTracing, type Tracing } from "../tracing/index.ts";

type Values = ValuesOf<
  typeof listenerSettings &
    typeof adminSettings &
    typeof drainSettings &
    typeof logSettings &
    typeof rateLimitSettings
>;

export interface ProgramSettings extends Values {
  /** In place of host and port. */
  readonly socketPath?: string | undefined;
  readonly tls: TlsFiles | undefined;
  readonly auth: AuthSettings;
  readonly limits: ValuesOf<typeof limitSettings> & { readonly messageValuesMax: number };
  readonly cors: CorsOptions | undefined;
}

export interface ProgramOptions {
  readonly name: string;
  readonly version: string;
  readonly settings: ProgramSettings;
  readonly log: Log;
  readonly naming: Omit<ServiceMetricsOptions, "version">;
}

export interface StartedProgram extends Omit<ProgramOptions, "naming"> {
  /** Adds something to close, before all that was added earlier. */
  defer(close: Close): void;
  /** Undefined if metrics are off. Then nothing is measured. */
  readonly metrics: ServiceMetrics | undefined;
  readonly metricsUrl: string | undefined;
  /** Undefined if neither tokens nor JWTs are configured. */
  readonly authenticator: Authenticator | undefined;
  readonly tracing: Tracing | undefined;
  /** Closes everything, the last first. Idempotent. */
  close(): Promise<void>;
}

type Close = () => unknown;

/**
 * Opens what any server has beside its services: the port of the metrics, tokens and keys, and traces.
 * Loads little, because its caller has more to open. `serveOptions` makes the options of the port from it.
 *
 * @throws {TokenFileError} or the system's error if it cannot listen. Nothing is left open then.
 */
export async function startProgram(options: ProgramOptions): Promise<StartedProgram> {
  const { naming, ...program } = options;
  const { name, version, settings, log } = program;
  const { defer, close } = createClosers();
  try {
    const admin = await openMetrics(settings, { ...naming, version });
    if (admin !== undefined) defer(admin.close);
    const authenticator = hasAuth(settings.auth)
      ? await openAuthenticator(settings.auth, log.warn)
      : undefined;
    const scheme = schemeOf(settings);
    const tracing = await openTracing({ program: { name, version }, scheme, log });
    if (tracing !== undefined) defer(tracing.close);
    const { metrics, url: metricsUrl } = admin ?? {};
    return { ...program, metrics, metricsUrl, authenticator, tracing, defer, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** AsyncDisposableStack, which Node 22 has not. */
function createClosers() {
  const all: Close[] = [];
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
    defer: (close: Close) => void all.push(close),
    close: () => (closed ??= closeAll()),
  };
}

async function openMetrics(
  { adminHost: host, adminPort: port }: ProgramSettings,
  options: ServiceMetricsOptions,
) {
  if (port === undefined) return undefined;
  // Loaded only if metrics are on.
  const { openAdmin, ServiceMetrics } = await import("connect-gateway/metrics");
  const metrics = new ServiceMetrics(options);
  try {
    const listener = await openAdmin({ host, port }, metrics);
    const close = () => listener.close().finally(() => metrics.close());
    return { metrics, url: `${localUrl("http", host, listener.address.port)}/metrics`, close };
  } catch (error) {
    metrics.close();
    throw error;
  }
}

export function schemeOf({ tls }: Pick<ProgramSettings, "tls">): "http" | "https" {
  return tls === undefined ? "http" : "https";
}
