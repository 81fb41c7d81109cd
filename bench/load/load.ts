import type { IdStream } from "../plant-ids.ts";
import type { RequestKind } from "../requests.ts";

/** What a generator is told to do. */
export interface Load {
  /** The servers, which get as many connections each. */
  readonly urls: readonly string[];
  readonly kind: RequestKind;
  readonly ids: IdStream;
  readonly connections: number;
  /** Requests under way on one connection; HTTP/1.1 has one. */
  readonly streams: number;
  readonly until: { readonly seconds: number } | { readonly requests: number };
  /** Requests in a second, as they fall due. Without: as fast as the answers come. */
  readonly rate?: number;
  /** How long it runs before anything is measured, in seconds. Default: not at all. */
  readonly warmUpSeconds?: number;
}

/** What a generator says at its end. */
export interface LoadResult {
  readonly requestsPerSecond: number;
  /** Plants that a right answer has acknowledged: to the first calls and after the end, too. */
  readonly created: number;
  readonly failed: number;
  /** Requests that were left alone at the end, at most: their plants may be there or not. */
  readonly unanswered: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What the generator itself used per request, in user and kernel, where it tells. */
  readonly generatorCpuUs?: number;
}
