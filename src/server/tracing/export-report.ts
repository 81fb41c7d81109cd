import { ExportResultCode } from "@opentelemetry/core";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Log } from "connect-gateway/logging";

/** Tells the log when exports begin to fail, and when they work again: not of each that fails between. */
export function reportOutcomes(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const wasFailing = isFailing;
        isFailing = result.code !== ExportResultCode.SUCCESS;
        if (isFailing && !wasFailing) log.warn("cannot export spans; they are lost", result.error);
        if (!isFailing && wasFailing) log.info("spans are exported again");
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
