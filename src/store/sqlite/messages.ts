import type { MessagePort } from "node:worker_threads";
import type { StoreOpenErrorCode } from "../open-error.ts";
import type { CommitLimits } from "../options.ts";

/** What the worker needs to open the database. */
export interface WorkerSetup {
  /** Absolute. */
  readonly path: string;
  readonly busyTimeoutMs: number;
  /** The maximum for one commit. */
  readonly limits: Pick<CommitLimits, "batchRowsMax" | "batchBytesMax">;
  /** The memory of the bell that wakes the worker. */
  readonly bell: SharedArrayBuffer;
}

/** A message to the worker, which reads it when its bell rings. */
export type Request =
  /** Adds a queue to take rows from. */
  | { readonly kind: "attach"; readonly memory: SharedArrayBuffer; readonly port: MessagePort }
  /** Repeats the checks of opening the database. */
  | { readonly kind: "inspect" }
  /** The same, plus a commit that changes nothing. */
  | { readonly kind: "probe" }
  /** Answered by the end of the thread. */
  | { readonly kind: "close" };

/** A message from the worker. The outcomes of rows are in the memory of their queue. */
export type Reply =
  | { readonly kind: "opened" }
  | { readonly kind: "refused"; readonly code: StoreOpenErrorCode; readonly message: string }
  /** An inspection or a probe succeeded. */
  | { readonly kind: "well" }
  /** An inspection or a probe failed; the next may succeed. */
  | { readonly kind: "unwell"; readonly code: string; readonly message: string }
  /** A commit was rolled back; the next may succeed. */
  | { readonly kind: "commit_failed"; readonly code: string; readonly message: string }
  /** The first successful commit after a failed commit or probe. */
  | { readonly kind: "commit_succeeded" }
  /** Nothing will be committed any more. May be sent at any time. */
  | { readonly kind: "broken"; readonly code: string; readonly message: string };
