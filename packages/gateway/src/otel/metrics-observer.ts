import type { Meter } from "@opentelemetry/api";
import type { CallObserver } from "../adapter/observer.ts";
import { assertOptions } from "../rpc/options.ts";
import { describeEnding, describeRequest, isHttp, type Scheme, schemes } from "./convention.ts";

export interface MetricsObserverOptions {
  readonly meter: Meter;
  /** `url.scheme` of REST calls. Default: `http`. */
  readonly scheme?: Scheme;
}

/**
 * Records the duration of every request in seconds: `rpc.server.call.duration` for gRPC, gRPC-Web
 * and Connect, `http.server.request.duration` for REST and MCP. Clients cannot choose any attribute.
 */
export function createMetricsObserver(options: MetricsObserverOptions): CallObserver {
  assertOptions("createMetricsObserver", options, { meter: "object", scheme: schemes });
  const { meter, scheme = "http" } = options;
  const create = (name: string, description: string) =>
    meter.createHistogram(name, { description, unit: "s", advice });
  const rpc = create("rpc.server.call.duration", "Duration of incoming RPC calls.");
  const http = create("http.server.request.duration", "Duration of HTTP server requests.");
  return {
    begin(request) {
      const startedAt = performance.now();
      return {
        end(ending) {
          const seconds = (performance.now() - startedAt) / 1000;
          const { attributes: asked } = describeRequest(request, scheme);
          const { attributes, errorType } = describeEnding(request, ending);
          const failed = errorType !== undefined && { "error.type": errorType };
          const duration = isHttp(request.protocol) ? http : rpc;
          duration.record(seconds, { ...asked, ...attributes, ...failed });
        },
      };
    },
  };
}

const advice = {
  explicitBucketBoundaries: [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
  ],
};
