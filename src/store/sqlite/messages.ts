import type { MessagePort } from "node:worker_threads";
import type { StoreOpenErrorCode } from "../open-error.ts";
import type { CommitLimits } from "../options.ts";

/** What the worker needs to open the database. */
export interface WorkerSetup {
  /** Absolute. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** How much goes into one commit. */
  readonly limits: Pick<CommitLimits, "batchRowsMax" | "batchBytesMax">;
  /** The memory of the bell that wakes it. */
  readonly bell: SharedArrayBuffer;
}

/** To the worker, which looks for it when its bell rings. */
export type Request =
  /** Takes rows from one more queue. */
  | { readonly kind: "attach"; readonly memory: SharedArrayBuffer; readonly port: MessagePort }
  /** Checks what opening the database asserted. */
  | { readonly kind: "inspect" }
  /** The same, and a commit that changes nothing. */
  | { readonly kind: "probe" }
  /** Answered by the end of the thread. */
  | { readonly kind: "close" };

/** From the worker. What becomes of rows is in the memory of their queue. */
export type Reply =
  | { readonly kind: "opened" }
  | { readonly kind: "refused"; readonly code: StoreOpenErrorCode; readonly message: string }
  /** An inspection or a probe has found nothing wrong. */
  | { readonly kind: "well" }
  /** An inspection or a probe has failed; the next may succeed. */
  | { readonly kind: "unwell"; readonly code: string; readonly message: string }
  /** A commit was rolled back; the next may succeed. */
  | { readonly kind: "commit_failed"; readonly code: string; readonly message: string }
  /** The first commit that succeeded since one failed, or a probe. */
  | { readonly kind: "commit_succeeded" }
  /** Nothing will be committed any more. May come at any time. */
  | { readonly kind: "broken"; readonly code: string; readonly message: string };
