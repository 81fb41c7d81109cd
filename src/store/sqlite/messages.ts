import { type NewPlant, textFields } from "../../plant.ts";
import type { StoreOpenErrorCode } from "../open-error.ts";

/** What the worker needs to open the database. */
export interface WorkerSetup {
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** Two int32: a count of requests, on which the worker sleeps, and waiting pages of the log. */
  readonly bell: Int32Array;
}

/** A message to the worker. Each is answered by one message, in order; `close` by its end. */
export type Request =
  | { readonly kind: "commit"; readonly values: readonly Value[] }
  /** Opens the database if it is not, and looks whether its files and its table are in place. */
  | { readonly kind: "inspect" }
  /** The same, plus a commit that changes nothing. */
  | { readonly kind: "probe" }
  | { readonly kind: "close" };

export type Value = bigint | string | null;

export const rowLength: number = 1 + textFields.length;

/** The values of rows, one after another. An array for each row would take four times as long to send. */
export function valuesOf(plants: readonly NewPlant[]): readonly Value[] {
  const values: Value[] = [];
  for (const plant of plants) {
    values.push(plant.id);
    for (const field of textFields) values.push(plant[field] ?? null);
  }
  return values;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** Rows of a commit that were not stored, and why: without an error, another plant has the id. */
export type Unstored = readonly (readonly [row: number, error?: Failure])[];

export type Start =
  /** `failure`: why nothing can be committed yet. The next request may succeed. */
  | { readonly kind: "opened"; readonly failure: Failure | undefined }
  | { readonly kind: "refused"; readonly code: StoreOpenErrorCode; readonly message: string };

export type Reply =
  | { readonly kind: "done"; readonly unstored: Unstored }
  /** It was rolled back; the next may succeed. */
  | { readonly kind: "failed"; readonly failure: Failure }
  /** Nothing will be committed any more, and no request answered. May be sent at any time. */
  | { readonly kind: "broken"; readonly failure: Failure };
