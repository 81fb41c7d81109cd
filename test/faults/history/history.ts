/**
 * What clients requested and received, and what the store was seen to contain. Recorded by the
 * campaign, where no fault of the service reaches it. All times use the same clock
 * (`performance.now()`): Node counts from the start of the process, in all threads.
 */
import type { StoredPlant } from "../../support/stored-plants.ts";

export interface TestPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

/** One request, from its first byte to the last byte of its answer, or to its loss. */
export interface RequestRecord {
  readonly client: string;
  readonly plant: TestPlant;
  readonly startMs: number;
  readonly endMs: number;
  /** The server's time limit, as given in the request. */
  readonly deadlineMs: number;
  readonly outcome: RequestOutcome;
}

export type RequestOutcome =
  /** A success, with the returned plant. */
  | { readonly kind: "stored"; readonly answer: Omit<TestPlant, "id"> }
  /** ALREADY_EXISTS. */
  | { readonly kind: "taken" }
  /** Stored or not; retrying is safe. `unanswered`: the client gave up long after its deadline. */
  | { readonly kind: "unknown"; readonly why: "deadline" | "unavailable" | "cut" | "unanswered" }
  /** INVALID_ARGUMENT: not stored. */
  | { readonly kind: "invalid" }
  /** What a plant store never returns for a valid request. */
  | { readonly kind: "failed"; readonly reason: string };

/** The whole store, as read by an operator. */
export interface StoreRead {
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: readonly StoredPlant[];
}

export interface History {
  readonly requests: readonly RequestRecord[];
  /** In chronological order; the last one follows all requests. */
  readonly reads: readonly StoreRead[];
  /** How long the machine may have kept a request waiting between two times, in ms. Default: 0. */
  readonly starvedMs?: (fromMs: number, untilMs: number) => number;
}
