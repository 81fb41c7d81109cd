import type { Attributes } from "@opentelemetry/api";
import type { CallEnding, ObservedRequest } from "../adapter/observer.ts";

/**
 * The content of a call's spans and metrics, according to a semantic convention of OpenTelemetry
 * 1.45 (https://opentelemetry.io/docs/specs/semconv/). Every value is defined by the service or the
 * convention. If clients could choose values, they could fill the memory with metrics.
 */
export interface CallConvention {
  describeRequest(request: ObservedRequest, scheme: Scheme): CallDescription;
  describeEnding(request: ObservedRequest, ending: CallEnding): EndingDescription;
}

/** The scheme that clients use. If a proxy terminates TLS, the scheme between client and proxy. */
export type Scheme = "http" | "https";

export interface CallDescription {
  /** The name of the call's span. */
  readonly name: string;
  /** Attributes available to a sampler. */
  readonly attributes: Attributes;
}

export interface EndingDescription {
  readonly attributes: Attributes;
  /** The type of the error, if the service failed. */
  readonly errorType: string | undefined;
}
