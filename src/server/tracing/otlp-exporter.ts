import { diag } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode, getStringFromEnv } from "@opentelemetry/core";
import { convertLegacyHttpOptions } from "@opentelemetry/otlp-exporter-base/node-http";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { type Attempt, Delivery } from "./delivery.ts";
import { createPoster, type PostAnswer, type Poster } from "./post.ts";

/**
 * Sends spans to a collector: OTLP over HTTP, in protobuf, to where the variables
 * `OTEL_EXPORTER_OTLP_…` say. Only the sending is ours: that of the SDK cannot be
 * cut off, and would hold up the end of the process.
 */
export class OtlpExporter implements SpanExporter {
  readonly #deliveries = new Set<Delivery>();
  readonly #timeoutMs: number;
  readonly #poster: Poster;
  #isHurried = false;

  constructor() {
    warnOfOtherProtocols();
    const contentType = { "Content-Type": "application/x-protobuf" };
    const target = convertLegacyHttpOptions({}, "TRACES", "v1/traces", contentType);
    this.#timeoutMs = target.timeoutMillis;
    this.#poster = createPoster(target);
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    // There is always a form for spans; the type is that of all serializers.
    const body = ProtobufTraceSerializer.serializeRequest(spans) ?? new Uint8Array();
    const send = async (signal: AbortSignal) => outcomeOf(await this.#poster.post(body, signal));
    const delivery = new Delivery(send, this.#timeoutMs);
    this.#deliveries.add(delivery);
    if (this.#isHurried) delivery.hurry();
    void delivery.ended.then((error) => {
      this.#deliveries.delete(delivery);
      const { SUCCESS, FAILED } = ExportResultCode;
      done(error === undefined ? { code: SUCCESS } : { code: FAILED, error });
    });
  }

  /** From now on each batch is tried once: at once, where it waits to be tried again. */
  hurry(): void {
    this.#isHurried = true;
    for (const delivery of this.#deliveries) delivery.hurry();
  }

  /** Gives up what is on its way. */
  cutOff(): void {
    for (const delivery of this.#deliveries) delivery.cutOff();
  }

  async shutdown(): Promise<void> {
    await Promise.all([...this.#deliveries].map(({ ended }) => ended));
    this.#poster.close();
  }
}

function outcomeOf({ status, retryAfter, body }: PostAnswer): Attempt {
  if (status >= 200 && status < 300) return partialOutcomeOf(body);
  const error = new Error(`the collector has answered with status ${status}`);
  if (!retryable.includes(status)) return { kind: "refused", error };
  const seconds = Number.parseInt(retryAfter ?? "", 10);
  return { kind: "failed", error, afterMs: seconds >= 0 ? seconds * 1000 : undefined };
}

/** Of OTLP over HTTP: try again. */
const retryable = [429, 502, 503, 504];

/** A collector may take some spans and refuse others, which are not to be sent again. */
function partialOutcomeOf(body: Uint8Array): Attempt {
  const count = countRefused(body);
  if (count === 0) return { kind: "delivered" };
  return { kind: "refused", error: new Error(`the collector has refused ${count} spans`) };
}

/** What cannot be read refuses nothing. */
function countRefused(body: Uint8Array): number {
  try {
    return ProtobufTraceSerializer.deserializeResponse(body).partialSuccess?.rejectedSpans ?? 0;
  } catch {
    return 0;
  }
}

function warnOfOtherProtocols(): void {
  const names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
  const given = names.map((name) => getStringFromEnv(name)?.trim()).find((one) => one);
  if (given === undefined || given === "http/protobuf") return;
  diag.warn(`OTEL_EXPORTER_OTLP_PROTOCOL: spans are sent as http/protobuf, and not as ${given}`);
}
