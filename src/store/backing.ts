import type { Obstacle } from "../plant.ts";

/** What a store knows about its database, and how it stops using it. */
export interface Backing {
  obstacle(): Obstacle | undefined;
  /** Why commits must not be tried now; undefined if they may be. */
  refusal?(): { readonly cause: unknown } | undefined;
  /** Called once, after the last create. Ends the checks of the database. */
  stop?(): Promise<void>;
  /** Called once, after the last commit. */
  close(): Promise<void>;
}
