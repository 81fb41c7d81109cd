/**
 * Power failures. Killing a store proves nothing about its syncs, because the system still has what
 * it wrote. This records each write, sync and new name of a store that creates plants, together
 * with the acknowledgements. From these, it reconstructs the states that a disk may be in if the
 * power fails between any two of them (disk.ts). In each state, the store must start with every
 * plant acknowledged before, byte for byte, and work.
 */
import { constants } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Campaign } from "../campaign.ts";
import type { Call } from "../disk/call-log.ts";
import { type OutageName, outageNames } from "../disk/crash-state.ts";
import { type Crash, type Outage, tryCrashes } from "../disk/crashes.ts";
import type { PlantSizes } from "../disk/plants.ts";
import { databaseName, openRecording, type Recording } from "../disk/recording.ts";
import { withShim } from "../disk/shim.ts";
import { createRandom, type Random } from "../random.ts";

/** What is recorded before the power failure. */
interface Session {
  readonly name: string;
  /** Default: mixed. */
  readonly sizes?: PlantSizes;
  /** Whether it starts with what an earlier power failure has left. Default: on a new disk. */
  readonly isAfterCrash?: boolean;
  /** Plants from this number on are not tried. */
  readonly triedBelow: number;
  /** How many crashes are worth their time. Default: 33. */
  readonly crashes?: number;
  record(recording: Recording, random: Random): Promise<unknown>;
}

const sessions: readonly Session[] = [
  {
    name: "a new store, closed and opened again",
    triedBelow: 60,
    record: ({ run }, random) => run({ openings: [40, 60], concurrency: random.int(1, 8) }),
  },
  {
    // Its log is recovered at once, copied, and restarted over the old one.
    name: "a start after a loss of power",
    isAfterCrash: true,
    triedBelow: 120,
    record: ({ run }, random) => run({ openings: [120], concurrency: random.int(1, 8) }),
  },
  {
    // What the killed process wrote without syncing is there, and is requested again.
    name: "a start after a kill",
    triedBelow: 120,
    async record({ run }, random) {
      const concurrency = random.int(1, 8);
      // Half of the kills happen when a batch is in the log, but not yet synced.
      const killAt = random.chance(0.5)
        ? { sync: random.int(8, 8 + 100 / concurrency) }
        : { call: random.int(1, 300) };
      await run({ openings: [100], concurrency, killAt });
      await run({ openings: [120], concurrency });
    },
  },
  {
    // To the next process, the system still shows what is not on the disk.
    name: "a start after syncs have failed",
    triedBelow: 120,
    // There are few moments between a start and its first own commit.
    crashes: 99,
    async record({ run, acknowledged }, random) {
      const concurrency = random.int(1, 8);
      const at = { sync: random.int(8, 8 + 100 / concurrency) };
      const fault = { at, errno: constants.errno.EIO, scope: "same" } as const;
      await run({ openings: [100], concurrency, fault });
      // First the plants that were tried before: all of them are already visible.
      const tried = (await acknowledged()).size + concurrency;
      await run({ openings: [tried], concurrency });
      await run({ openings: [120], concurrency });
    },
  },
  {
    // The start cannot copy the log, and the next one finds it partly copied.
    name: "a start beside a reader",
    triedBelow: 120,
    crashes: 66,
    async record({ run, root, acknowledged }, random) {
      const concurrency = random.int(1, 8);
      await run({ openings: [20], concurrency });
      using reader = new DatabaseSync(join(root, databaseName), { readOnly: true });
      const read = () => reader.exec("BEGIN; SELECT count(*) FROM plants");
      read();
      const at = { sync: random.int(8, 8 + 80 / concurrency) };
      const fault = { at, errno: constants.errno.EIO, scope: "same" } as const;
      await run({ openings: [100], concurrency, ...random.pick([{ fault }, { killAt: at }]) });
      if (random.chance(0.5)) {
        reader.exec("COMMIT");
        read();
      }
      const tried = (await acknowledged()).size + concurrency;
      await run({ openings: [Math.min(tried, 100)], concurrency });
      await run({ openings: [110], concurrency });
      reader.exec("COMMIT");
      await run({ openings: [120], concurrency });
    },
  },
  {
    ...{ name: "a checkpoint under load", sizes: "large", triedBelow: 170, crashes: 11 },
    record: ({ run }) => run({ openings: [160, 170], concurrency: 4 }),
  },
];

/** More of the same adds no information. */
const foundMax = 20;

export const power: Campaign = {
  name: "power",
  run: (run) =>
    withShim(run, async ({ folder: parent, shimPath }) => {
      const random = createRandom(run.seed, "power");
      const shouldStop = () => run.isOver() || run.found.length >= foundMax;
      let earlier: Crash | undefined;
      for (let round = 0; !shouldStop(); round++) {
        const session = sessions[round % sessions.length] as Session;
        const { name, sizes = "mixed", isAfterCrash, triedBelow, crashes = 33, record } = session;
        const folder = join(parent, String(round));
        const from = isAfterCrash ? earlier : undefined;
        earlier = undefined;
        const options = { shimPath, sizes, before: from?.left };
        await using recording = await openRecording(folder, options);
        await record(recording, random);
        await recording.assertComplete();
        const calls = await recording.calls();
        const outages = planOutages(calls, crashes, random);
        const tried = { random, outages, acknowledged: from?.acknowledged, triedBelow, folder };
        for await (const crash of tryCrashes(recording, calls, tried)) {
          run.count(`in ${name}`);
          run.count(crash.kind);
          run.find(`${name}, round ${round}`, crash.wrong);
          const isEarlier = crash.wrong.length === 0 && (!earlier || random.chance(0.3));
          if (isEarlier) earlier = crash;
          if (shouldStop()) break;
        }
        run.log(`round ${round}: ${name}, ${calls.length} calls`);
      }
    }),
};

/**
 * The same number of each kind. Half of the moments are next to a call that is not a write. There
 * are few of these, and they determine what must be there.
 */
function planOutages(calls: readonly Call[], crashes: number, random: Random): readonly Outage[] {
  const turns = calls.flatMap(({ kind }, index) => (kind === "write" ? [] : [index, index + 1]));
  return Array.from({ length: crashes }, (_, index) => ({
    moment: random.chance(0.5) ? random.pick(turns) : random.int(0, calls.length),
    kind: outageNames[index % outageNames.length] as OutageName,
  }));
}
