import type { StoreOpenErrorCode } from "../open-error.ts";
import type { PlantColumns } from "../plant-columns.ts";

/** What the worker needs to open the database. */
export interface WorkerSetup {
  /** Absolute. */
  readonly path: string;
  readonly busyTimeoutMs: number;
}

/** To the worker. Answered in their order, `close` by the end. */
export type Request =
  | { readonly kind: "commit"; readonly batch: PlantColumns }
  /** Checks what opening the database asserted. */
  | { readonly kind: "inspect" }
  /** The same, and a commit that changes nothing. */
  | { readonly kind: "probe" }
  | { readonly kind: "close" };

/** From the worker. */
export type Reply =
  | { readonly kind: "opened" }
  | { readonly kind: "refused"; readonly code: StoreOpenErrorCode; readonly message: string }
  /** The batch is durable; `taken` has the indexes of the rows whose id is another plant's. */
  | { readonly kind: "committed"; readonly taken: readonly number[] }
  /** An inspection or a probe has found nothing wrong. */
  | { readonly kind: "well" }
  /** The batch or the probe was rolled back; the next may succeed. */
  | { readonly kind: "rolled_back"; readonly code: string; readonly message: string }
  /** Nothing will be committed any more. May come at any time, also unasked. */
  | { readonly kind: "broken"; readonly code: string; readonly message: string };
