/**
 * What clients asked for and were told, and what the store was seen to hold: kept
 * by the campaign, where no fault of the service reaches it. Times are of one clock
 * (`performance.now()`): Node counts them from the start of the process, in all threads.
 */
import type { StoredPlant } from "../../support/stored-plants.ts";

export interface TestPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

/** One request, from its first byte to the last of its answer, or to the loss of it. */
export interface RequestRecord {
  readonly client: string;
  readonly plant: TestPlant;
  readonly startMs: number;
  readonly endMs: number;
  /** How long the server may take to answer, as the request said. */
  readonly deadlineMs: number;
  readonly outcome: RequestOutcome;
}

export type RequestOutcome =
  /** A success, with the plant of the answer. */
  | { readonly kind: "stored"; readonly answer: Omit<TestPlant, "id"> }
  /** ALREADY_EXISTS. */
  | { readonly kind: "taken" }
  /** Stored or not; asking again is safe. `unanswered`: the client gave up long after its deadline. */
  | { readonly kind: "unknown"; readonly why: "deadline" | "unavailable" | "cut" | "unanswered" }
  /** INVALID_ARGUMENT: not stored. */
  | { readonly kind: "invalid" }
  /** What a plant store never answers to a valid request. */
  | { readonly kind: "failed"; readonly reason: string };

/** The whole store, as an operator reads it. */
export interface StoreRead {
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: readonly StoredPlant[];
}

export interface History {
  readonly requests: readonly RequestRecord[];
  /** In the order of time; the last one after all requests. */
  readonly reads: readonly StoreRead[];
  /** For how long the machine may have kept a request waiting between two times, in ms. Default: 0. */
  readonly starvedMs?: (fromMs: number, untilMs: number) => number;
}
