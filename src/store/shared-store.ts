import type { Obstacle } from "../plant.ts";
import type { StoreOptions } from "./options.ts";
import type { QueueEnd } from "./sqlite/queue/messages.ts";

/** One thread's way to a store that another opened. Transfer its port with it. */
export type StoreEnd = QueueEnd;

/** A store that exists once in a process, and that several of its threads use. */
export interface SharedStore {
  /** Lets one more thread use it: the end goes to `joinStore` there. */
  openEnd(): StoreEnd;
  /** The thread that had this end has ended: what it left waiting is not written. */
  releaseEnd(end: StoreEnd): void;
  /** Called when no thread uses it any more. */
  close(): Promise<void>;
}

export interface JoinOptions extends Pick<StoreOptions, "limits" | "observer"> {
  /** What is in the way of the store itself: the thread that opened it knows. */
  readonly obstacle: () => Obstacle | undefined;
  /** Called once, when no create of this thread comes any more. */
  readonly onStop?: () => Promise<void>;
  /** Called once, when nothing of this thread is under way or to come. */
  readonly onClose?: () => Promise<void>;
}
