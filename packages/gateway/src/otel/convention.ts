import type { Attributes } from "@opentelemetry/api";
import type { CallEnding, ObservedRequest } from "../adapter/observer.ts";

/**
 * What spans and metrics say of a call, by one of the semantic conventions of OpenTelemetry 1.45
 * (https://opentelemetry.io/docs/specs/semconv/). Every value is one of those that the service or
 * the convention defines. If clients could choose one, they could fill the memory with metrics.
 */
export interface CallConvention {
  describeRequest(request: ObservedRequest, scheme: Scheme): CallDescription;
  describeEnding(request: ObservedRequest, ending: CallEnding): EndingDescription;
}

/** What clients speak: to the proxy that ends TLS, if there is one. */
export type Scheme = "http" | "https";

export interface CallDescription {
  /** Of the call's span. */
  readonly name: string;
  /** What a sampler may decide by. */
  readonly attributes: Attributes;
}

export interface EndingDescription {
  readonly attributes: Attributes;
  /** What failed, if it was the service that did. */
  readonly errorType: string | undefined;
}
