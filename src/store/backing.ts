import type { Obstacle } from "../plant.ts";

/** What a store knows of its database, and its end. */
export interface Backing {
  obstacle(): Obstacle | undefined;
  /** Why no commit may be tried; undefined where one may. */
  refusal?(): { readonly cause: unknown } | undefined;
  /** Called once, when no create comes any more: nothing is looked for behind it. */
  stop?(): Promise<void>;
  /** Called once, when no commit is under way or to come. */
  close(): Promise<void>;
}
