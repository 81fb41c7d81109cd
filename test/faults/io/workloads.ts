import type { PlantSizes } from "../disk/plants.ts";

/**
 * What a store does while its calls fail. One operation at a time, so that each run makes the same
 * calls.
 */
export interface Workload {
  readonly name: string;
  readonly sizes: PlantSizes;
  /** As in CreatingOptions. */
  readonly openings: readonly (readonly [number, number])[];
  /** Plants from this number on are not tried. */
  readonly triedBelow: number;
}

export const workloads: readonly Workload[] = [
  {
    name: "creates, a close and a start",
    sizes: "small",
    openings: [
      [0, 6],
      [6, 10],
    ],
    triedBelow: 10,
  },
  {
    // Enough for a checkpoint, and for commits that overwrite the log it has copied.
    name: "a checkpoint under load",
    sizes: "large",
    openings: [[0, 142]],
    triedBelow: 142,
  },
];
