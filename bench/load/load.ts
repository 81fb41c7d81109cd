import type { IdStream } from "../plant-ids.ts";
import type { RequestKind } from "../requests.ts";

/** The parameters of a generator. */
export interface Load {
  /** The servers. Each gets the same number of connections. */
  readonly urls: readonly string[];
  readonly kind: RequestKind;
  readonly ids: IdStream;
  readonly connections: number;
  /** Concurrent requests on one connection; HTTP/1.1 has one. */
  readonly streams: number;
  readonly until: { readonly seconds: number } | { readonly requests: number };
  /** Scheduled requests per second. Without it, as fast as the answers arrive. */
  readonly rate?: number;
  /** How long it runs before the measurement, in seconds. Default: 0. */
  readonly warmUpSeconds?: number;
}

/** The result of a generator. */
export interface LoadResult {
  readonly requestsPerSecond: number;
  /** Plants acknowledged by correct answers, including the first calls and those after the end. */
  readonly created: number;
  readonly failed: number;
  /** The most requests that were abandoned at the end: their plants may or may not be stored. */
  readonly unanswered: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The generator's own CPU time per request, in user and kernel mode, if known. */
  readonly generatorCpuUs?: number;
}
