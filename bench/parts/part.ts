import type { Bench } from "../bench.ts";
import type { Table } from "../table.ts";

/** A part of the bench, which fills one table. */
export interface Part {
  run(bench: Bench): Promise<PartResult>;
}

export interface PartResult {
  readonly table: Table;
  /** All measurements, for programs. */
  readonly measured: unknown;
}
