import { methodNameOf } from "connect-gateway";
import { type Authenticator, createBearerGate, type Gate } from "connect-gateway-kit/auth";
import { limitRates } from "connect-gateway-kit/rate-limit";
import type { Settings } from "./settings.ts";

/** More than most servers have; the methods past these share a series. */
const methodsMax = 256;

const prefix = "connect_gateway";

export type Measuring = NonNullable<Awaited<ReturnType<typeof openMetrics>>>;

/** @returns undefined if metrics are off. Then nothing is measured. */
export async function openMetrics({ adminHost: host, adminPort: port }: Settings, version: string) {
  if (port === undefined) return undefined;
  // Loaded where it is wanted alone.
  const { openAdmin, ServiceMetrics } = await import("connect-gateway/metrics");
  const { Counter, Gauge } = await import("@prometheus-io/client");
  const labels = { nameOf: methodNameOf, namesMax: methodsMax };
  const metrics = new ServiceMetrics({ ...labels, prefix, version });
  const registers = [metrics.registry];
  const dropped = new Counter({
    name: `${prefix}_metadata_dropped_total`,
    help: "Request headers that were not passed on, as gRPC cannot carry their values.",
    labelNames: ["header"],
    registers,
  });
  const rules = new Gauge({
    name: `${prefix}_rules_left_out`,
    help: "Rules of google.api.http that are left out, as they cannot be served.",
    registers,
  });
  /** Called with the number of rules that are left out, as they cannot be served. */
  const leftOut = (count: number) => rules.set(count);
  /** For `proxyServices`. The names are those of a setting. */
  const onDroppedMetadata = (name: string) => dropped.inc({ header: name });
  try {
    const listener = await openAdmin({ host, port }, metrics);
    const close = () => listener.close().finally(() => metrics.close());
    return { metrics, onDroppedMetadata, leftOut, port: listener.address.port, close };
  } catch (error) {
    metrics.close();
    throw error;
  }
}

/** Checks rate limits and tokens before a body is read; undefined where neither is set. */
export function createGate(
  settings: Settings,
  authenticator: Authenticator | undefined,
): Gate | undefined {
  if (authenticator === undefined && settings.rateLimitPerAddress === 0) return undefined;
  const gate = authenticator && createBearerGate(authenticator.verify, "connect-gateway-proxy");
  return limitRates(gate ?? admit, settings);
}

function admit(): void {}
