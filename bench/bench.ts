import type { Plan } from "./plan.ts";
import type { IdStreams } from "./plant-ids.ts";

/** What all parts of a run share. */
export interface Bench {
  readonly plan: Plan;
  readonly ids: IdStreams;
  /** On a real disk. Stores are created in it. */
  readonly folder: string;
  /** Whether wrk is available to measure HTTP/1.1. */
  readonly hasWrk: boolean;
  /** Reports progress. */
  readonly log: (line: string) => void;
}
