import { ExportResultCode } from "@opentelemetry/core";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import type { Log } from "connect-gateway/logging";

/** Logs when exports start to fail and when they work again, but not each failure between. */
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
