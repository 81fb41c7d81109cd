import type { NewPlant, PlantErrorCode } from "../../plant.ts";
import type { PlantColumns } from "../plant-columns.ts";

/** From the thread of the callers: all that came up in one turn of its event loop. */
export interface Request {
  /** The number of the first plant; the others count on from it. */
  readonly first: number;
  readonly plants: PlantColumns;
  /** The numbers of those whose callers have left; of this request, too. */
  readonly left: readonly number[];
}

/** To the thread of the callers: every create has one outcome, but for those that were left. */
export interface Reply {
  readonly created: readonly number[];
  readonly failed: readonly Failure[];
}

export interface Failure {
  readonly number: number;
  readonly reason: PlantFailure | UnknownFailure;
}

/** A PlantError: the class of an error does not cross between threads. */
export interface PlantFailure {
  readonly kind: "plant_error";
  readonly code: PlantErrorCode;
  readonly message: string;
  readonly field: keyof NewPlant | undefined;
  readonly cause: unknown;
}

/** What no store should throw. */
export interface UnknownFailure {
  readonly kind: "unknown";
  readonly error: unknown;
}
