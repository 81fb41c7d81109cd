import { diag } from "@opentelemetry/api";
import { getNumberFromEnv } from "@opentelemetry/core";
import type { BatchSpanProcessorOptions } from "@opentelemetry/sdk-trace";

type BatchLimits = Omit<BatchSpanProcessorOptions, "exporter">;

/** How many spans may wait, and for how long. More are dropped; no call waits for them. */
export function readBatchLimits(): BatchLimits {
  return {
    maxQueueSize: readLimit("OTEL_BSP_MAX_QUEUE_SIZE", 2048),
    maxExportBatchSize: readLimit("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512),
    scheduledDelayMillis: readLimit("OTEL_BSP_SCHEDULE_DELAY", 5000),
    exportTimeoutMillis: readLimit("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
  };
}

function readLimit(name: string, byDefault: number): number {
  const given = getNumberFromEnv(name) ?? byDefault;
  if (Number.isSafeInteger(given) && given > 0) return given;
  diag.warn(`${name}: must be a whole number above 0, not ${given}; using ${byDefault}`);
  return byDefault;
}
