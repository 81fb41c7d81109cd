import type { ServiceMetrics } from "../metrics/index.ts";
import { methodNameOf } from "../rpc/call-names.ts";

/** More than most servers have; the methods past these share a series. */
const methodsMax = 256;

export interface Measuring {
  readonly metrics: ServiceMetrics;
  readonly port: number;
  close(): Promise<void>;
}

/** @returns undefined where nobody wants metrics. Then nothing is measured. */
export async function openMetrics(
  place: { readonly host: string; readonly port: number } | undefined,
  version: string,
): Promise<Measuring | undefined> {
  if (place === undefined) return undefined;
  // Loaded where it is wanted alone.
  const { openAdmin, ServiceMetrics } = await import("../metrics/index.ts");
  const labels = { nameOf: methodNameOf, namesMax: methodsMax };
  const metrics = new ServiceMetrics({ ...labels, prefix: "connect_gateway", version });
  try {
    const listener = await openAdmin(place, metrics);
    const close = () => listener.close().finally(() => metrics.close());
    return { metrics, port: listener.address.port, close };
  } catch (error) {
    metrics.close();
    throw error;
  }
}
