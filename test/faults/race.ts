/**
 * Many concurrent clients for the same id, with equal and different plants, retries, short
 * deadlines and disconnects, over all protocols and through all replicas.
 */

import { setTimeout as delay } from "node:timers/promises";
import { postgresKind, type StoreKind, sqliteKind } from "../support/store-place.ts";
import { type Campaign, type Run, runParts } from "./campaign.ts";
import { Recorder } from "./history/recorder.ts";
import { type Caller, openCallers } from "./load/caller.ts";
import { rivalPlants } from "./load/plants.ts";
import { createRandom, type Random } from "./random.ts";
import { complaintsOf, startServers } from "./server.ts";

/** Concurrent races, each with its own id. */
const lanes = 4;
/** The minimum in each lane, even with little time: fewer would not show much. */
const racesMin = 5;
const deadlineMs = 10_000;
const triesMax = 6;

const parts = [
  (run: Run) => raceOn(sqliteKind, 1, run),
  (run: Run) => raceOn(postgresKind, 2, run),
];
export const race: Campaign = { name: "race", run: (run) => runParts(run, parts) };

/** @param replicas The number of processes on the same store. */
async function raceOn(kind: StoreKind, replicas: number, run: Run): Promise<void> {
  const name = `${kind.store}, replicas: ${replicas}`;
  if (kind.isMissing) return run.skip(name);
  await using stack = new AsyncDisposableStack();
  const place = stack.use(await kind.open());
  const servers = await startServers(stack, Array<string>(replicas).fill(place.url));
  const callers = stack.use(openCallers(servers.map(({ url }) => url)));
  const recorder = new Recorder();
  let races = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const random = createRandom(run.seed, `${name} ${lane}`);
      for (let number = 0; number < racesMin || !run.isOver(); number++, races++) {
        const id = BigInt(lane - lanes / 2) * 2n ** 60n + BigInt(number);
        await raceFor(id, random, callers, recorder);
      }
    }),
  );
  await recorder.judge(run, name, { read: place.read });
  // Only clients are disturbed, so no server may log a complaint.
  run.find(name, servers.flatMap(complaintsOf));
  run.log(`${name}: ${races} races`);
  run.count("races", races);
}

async function raceFor(id: bigint, random: Random, callers: readonly Caller[], recorder: Recorder) {
  const rivals = rivalPlants(id, random).slice(0, random.int(1, 3));
  // All on one connection, so that they share a commit.
  const multiplexed = callers.filter(({ protocol }) => protocol.endsWith("HTTP/2"));
  const shared = random.chance(0.5) ? random.pick(multiplexed) : undefined;
  // How a client tries to store its plant is decided before the start. The last try has enough time.
  const racers = Array.from({ length: random.int(3, 8) }, () => {
    const tries = Array.from({ length: random.int(1, triesMax) }, () => ({
      caller: random.pick(callers),
      deadlineMs: random.chance(0.3) ? random.int(1, 30) : deadlineMs,
      leaveMs: random.chance(0.2) ? random.int(0, 15) : undefined,
    }));
    const startMs = shared === undefined ? random.int(0, 4) : 0;
    if (shared !== undefined) tries.unshift({ caller: shared, deadlineMs, leaveMs: undefined });
    return { plant: random.pick(rivals), startMs, tries };
  });
  await Promise.all(
    racers.map(async ({ plant, startMs, tries }, index) => {
      await delay(startMs);
      for (const { caller, deadlineMs, leaveMs } of tries) {
        const leave = leaveMs === undefined ? undefined : AbortSignal.timeout(leaveMs);
        const client = `racer ${index} over ${caller.protocol}`;
        await recorder.request({ client, plant, deadlineMs }, () =>
          caller.create(plant, deadlineMs, leave),
        );
      }
    }),
  );
}
