import { methodNameOf } from "connect-gateway";
import type { ServiceMetrics } from "connect-gateway/metrics";

/** More than most servers have; the methods past these share a series. */
const methodsMax = 256;

const prefix = "connect_gateway";

export interface Measuring {
  readonly metrics: ServiceMetrics;
  readonly port: number;
  /** For `proxyServices`. The names are those of a setting. */
  readonly onDroppedMetadata: (name: string) => void;
  close(): Promise<void>;
}

/** @returns undefined where nobody wants metrics. Then nothing is measured. */
export async function openMetrics(
  place: { readonly host: string; readonly port: number } | undefined,
  version: string,
): Promise<Measuring | undefined> {
  if (place === undefined) return undefined;
  // Loaded where it is wanted alone.
  const { openAdmin, ServiceMetrics } = await import("connect-gateway/metrics");
  const { Counter } = await import("@prometheus-io/client");
  const labels = { nameOf: methodNameOf, namesMax: methodsMax };
  const metrics = new ServiceMetrics({ ...labels, prefix, version });
  const dropped = new Counter({
    name: `${prefix}_metadata_dropped_total`,
    help: "Request headers that were not passed on, as gRPC cannot carry their values.",
    labelNames: ["header"],
    registers: [metrics.registry],
  });
  const onDroppedMetadata = (name: string) => dropped.inc({ header: name });
  try {
    const listener = await openAdmin(place, metrics);
    const close = () => listener.close().finally(() => metrics.close());
    return { metrics, onDroppedMetadata, port: listener.address.port, close };
  } catch (error) {
    metrics.close();
    throw error;
  }
}
