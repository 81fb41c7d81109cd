import type { Plan } from "./plan.ts";
import type { IdStreams } from "./plant-ids.ts";

/** What all parts of a run share. */
export interface Bench {
  readonly plan: Plan;
  readonly ids: IdStreams;
  /** On a real disk; stores are made in it. */
  readonly folder: string;
  /** Whether wrk is there to measure HTTP/1.1. */
  readonly hasWrk: boolean;
  /** Says what is going on. */
  readonly log: (line: string) => void;
}
