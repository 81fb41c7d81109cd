import type { Bench } from "../bench.ts";
import type { Table } from "../table.ts";

/** A part of the bench: what it measures goes into one table. */
export interface Part {
  run(bench: Bench): Promise<PartResult>;
}

export interface PartResult {
  readonly table: Table;
  /** All that was measured, for programs. */
  readonly measured: unknown;
}
