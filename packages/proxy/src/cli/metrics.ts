import type { Registry } from "@prometheus-io/client";

export type ProxyMetrics = Awaited<ReturnType<typeof createProxyMetrics>>;

/** The metrics of a proxy, beside those of any server. Loads Prometheus's client. */
export async function createProxyMetrics(registry: Registry) {
  const { Counter, Gauge } = await import("@prometheus-io/client");
  const registers = [registry];
  const dropped = new Counter({
    name: "connect_gateway_metadata_dropped_total",
    help: "Request headers that were not passed on, as gRPC cannot carry their values.",
    labelNames: ["header"],
    registers,
  });
  const rules = new Gauge({
    name: "connect_gateway_rules_left_out",
    help: "Rules of google.api.http that are left out, as they cannot be served.",
    registers,
  });
  return {
    /** Called with the number of rules that are left out, as they cannot be served. */
    leftOut: (count: number) => rules.set(count),
    /** For `proxyServices`. The names are those of a setting. */
    onDroppedMetadata: (name: string) => dropped.inc({ header: name }),
  };
}
