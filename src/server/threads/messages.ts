import type { Log } from "connect-gateway/logging";
import type { StoreEnd } from "../../store/shared-store.ts";
import type { RateLimitMemories } from "../rate-limit/rate-limits.ts";
import type { ServerOptions } from "../settings/settings.ts";

/** What a serving thread needs to start. Has options, because not all settings can be cloned. */
export interface ServingSetup {
  /** Complete, except for the fields below. */
  readonly options: Omit<ServerOptions, "log" | "port" | "threads">;
  /** This thread's number, from 1. */
  readonly number: number;
  /** The number of serving threads. */
  readonly threads: number;
  readonly port: number;
  /** This thread's part of the service's limits. */
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  /** The memory of a {@link Readiness}. */
  readonly readiness: SharedArrayBuffer;
  /** The memory of its metrics, if metrics are on. */
  readonly metrics: SharedArrayBuffer | undefined;
  /** Shared by all threads; undefined if no rate limit is on. */
  readonly rateLimits: RateLimitMemories | undefined;
  /** Connects to the main thread's store. If undefined, the thread opens its own. */
  readonly store: StoreEnd | undefined;
}

/** To a serving thread: finish requests in flight, and exit. */
export type ServingRequest = "drain";

/** From a serving thread. */
export type ServingReport =
  | { readonly kind: "listening"; readonly port: number }
  | ({ readonly kind: "log" } & LogEntry);

/** An error is sent as text: its other properties may not be cloneable. */
export interface LogEntry {
  readonly level: keyof Log;
  readonly message: string;
  readonly cause: { readonly message: string; readonly stack: string | undefined } | undefined;
}
