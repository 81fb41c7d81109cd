import type { Obstacle } from "../plant.ts";
import type { StoreOptions } from "./options.ts";
import type { QueueEnd } from "./sqlite/queue/messages.ts";

/** One thread's end of a store that another thread opened. Transfer its port with it. */
export type StoreEnd = QueueEnd;

/** A store that is opened once in a process and used by several threads. */
export interface SharedStore {
  /** Creates an end for one more thread. Pass it to `joinStore` there. */
  openEnd(): StoreEnd;
  /** Call when the thread that had this end has ended. What it left waiting is not written. */
  releaseEnd(end: StoreEnd): void;
  /** Called when no thread uses the store any more. */
  close(): Promise<void>;
}

export interface JoinOptions extends Pick<StoreOptions, "limits" | "observer"> {
  /** The obstacle of the store itself, as the thread that opened it knows it. */
  readonly obstacle: () => Obstacle | undefined;
  /** Called once, after the last create of this thread. */
  readonly onStop?: () => Promise<void>;
  /** Called once, after the last operation of this thread. */
  readonly onClose?: () => Promise<void>;
}
