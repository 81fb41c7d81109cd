import type { Log } from "connect-gateway/logging";
import type { StoreEnd } from "../../store/shared-store.ts";
import type { RateLimitMemories } from "../rate-limit/rate-limits.ts";
import type { ServerOptions } from "../settings/settings.ts";

/** What a serving thread needs to begin. Options, because not all settings can cross. */
export interface ServingSetup {
  /** Whole, but for what is below. */
  readonly options: Omit<ServerOptions, "log" | "port" | "threads">;
  /** From 1. */
  readonly number: number;
  /** Of how many. */
  readonly threads: number;
  readonly port: number;
  /** Its parts of the service's. */
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  /** The memory of a Readiness. */
  readonly readiness: SharedArrayBuffer;
  /** The memory of its metrics, if anybody reads them. */
  readonly metrics: SharedArrayBuffer | undefined;
  /** All threads count together; undefined where no rate is limited. */
  readonly rateLimits: RateLimitMemories | undefined;
  /** Leads to the store of the main thread; without, the thread opens one of its own. */
  readonly store: StoreEnd | undefined;
}

/** To a serving thread: let what is under way finish, and end. */
export type ServingRequest = "drain";

/** From a serving thread. */
export type ServingReport =
  | { readonly kind: "listening"; readonly port: number }
  | ({ readonly kind: "log" } & LogEntry);

/** An error crosses as its text: what hangs on it might not. */
export interface LogEntry {
  readonly level: keyof Log;
  readonly message: string;
  readonly cause: { readonly message: string; readonly stack: string | undefined } | undefined;
}
