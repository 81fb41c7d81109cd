import type { Tracer } from "@opentelemetry/api";
import {
  type ReadableSpan,
  type Sampler,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { within } from "../support/within.ts";

/** A tracer that stores its spans. */
export interface SpanRecorder {
  readonly tracer: Tracer;
  /** Resolves to the ended spans once there are `count`. */
  until(count: number): Promise<readonly ReadableSpan[]>;
}

export function recordSpans(sampler?: Sampler): SpanRecorder {
  const ended: ReadableSpan[] = [];
  const waiting = new Set<() => void>();
  const processor: SpanProcessor = {
    onStart() {},
    onEnd(span) {
      ended.push(span);
      for (const wake of waiting) wake();
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const provider = new TracerProvider({ spanProcessors: [processor], ...(sampler && { sampler }) });

  return {
    tracer: provider.getTracer("test"),
    async until(count) {
      const reached = Promise.withResolvers<void>();
      const look = () => ended.length >= count && reached.resolve();
      waiting.add(look);
      look();
      await within(`${count} spans`, reached.promise).finally(() => waiting.delete(look));
      return ended;
    },
  };
}
