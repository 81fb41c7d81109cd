import { constants } from "node:os";
import type { PlantSizes } from "../disk/plants.ts";
import type { Recording } from "../disk/recording.ts";
import type { Random } from "../random.ts";

/** What is recorded before the power failure. */
export interface Session {
  readonly name: string;
  readonly sizes: PlantSizes;
  /** Whether it starts with what an earlier power failure has left, or on a new disk. */
  readonly startsFrom: "nothing" | "crash";
  /** Plants from this number on are not tried. */
  readonly triedBelow: number;
  /** How many crashes are worth their time. */
  readonly crashes: number;
  record(recording: Recording, random: Random): Promise<void>;
}

export const sessions: readonly Session[] = [
  {
    name: "a new store, closed and opened again",
    sizes: "mixed",
    startsFrom: "nothing",
    triedBelow: 60,
    crashes: 33,
    async record(recording, random) {
      const concurrency = random.int(1, 8);
      await recording.run({
        openings: [
          [0, 40],
          [40, 60],
        ],
        concurrency,
      });
    },
  },
  {
    // Its log is recovered at once, copied, and restarted over the old one.
    name: "a start after a loss of power",
    sizes: "mixed",
    startsFrom: "crash",
    triedBelow: 120,
    crashes: 33,
    async record(recording, random) {
      await recording.run({ openings: [[0, 120]], concurrency: random.int(1, 8) });
    },
  },
  {
    // What the killed process wrote without syncing is there, and is requested again.
    name: "a start after a kill",
    sizes: "mixed",
    startsFrom: "nothing",
    triedBelow: 120,
    crashes: 33,
    async record(recording, random) {
      const concurrency = random.int(1, 8);
      // Half of the kills happen when a batch is in the log, but not yet synced.
      const killAt = random.chance(0.5)
        ? { sync: random.int(8, 8 + 100 / concurrency) }
        : { call: random.int(1, 300) };
      await recording.run({ openings: [[0, 100]], concurrency, killAt });
      await recording.run({ openings: [[0, 120]], concurrency });
    },
  },
  {
    // To the next process, the system still shows what is not on the disk.
    name: "a start after syncs have failed",
    sizes: "mixed",
    startsFrom: "nothing",
    triedBelow: 120,
    // There are few moments between a start and its first own commit.
    crashes: 99,
    async record(recording, random) {
      const concurrency = random.int(1, 8);
      const at = { sync: random.int(8, 8 + 100 / concurrency) };
      const fault = { at, errno: constants.errno.EIO, scope: "same", short: false } as const;
      await recording.run({ openings: [[0, 100]], concurrency, fault });
      // First the plants that were tried before: all of them are already visible.
      const tried = (await recording.acknowledged()).size + concurrency;
      await recording.run({ openings: [[0, tried]], concurrency });
      await recording.run({ openings: [[0, 120]], concurrency });
    },
  },
  {
    name: "a checkpoint under load",
    sizes: "large",
    startsFrom: "nothing",
    triedBelow: 170,
    crashes: 11,
    async record(recording) {
      await recording.run({
        openings: [
          [0, 160],
          [160, 170],
        ],
        concurrency: 4,
      });
    },
  },
];
