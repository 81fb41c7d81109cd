/**
 * Many concurrent clients for the same id, with equal and different plants, retries, short
 * deadlines and disconnects, over all protocols and through all replicas.
 */

import { setTimeout as delay } from "node:timers/promises";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { postgresKind, type StoreKind, sqliteKind } from "../support/store-place.ts";
import {
  type Campaign,
  type CampaignResult,
  inEqualParts,
  notTried,
  type PartOptions,
  runParts,
} from "./campaign.ts";
import { isComplaint } from "./complaint.ts";
import type { TestPlant } from "./history/history.ts";
import { linesOf, Recorder } from "./history/recorder.ts";
import { type Caller, openCallers } from "./load/caller.ts";
import { rivalPlants } from "./load/plants.ts";
import { createRandom, type Random } from "./random.ts";
import { patienceMs } from "./start-server.ts";

interface Arena {
  readonly kind: StoreKind;
  /** Processes on the same store. */
  readonly replicas: number;
}

const arenas: readonly Arena[] = [
  { kind: sqliteKind, replicas: 1 },
  { kind: postgresKind, replicas: 2 },
];

/** Concurrent races, each with its own id. */
const lanes = 4;

/** The minimum in each lane, even with little time: fewer would not show much. */
const racesMin = 5;

const deadlineMs = 10_000;
const triesMax = 6;

export const race: Campaign = {
  name: "race",
  run: (options) => runParts(inEqualParts(arenas, raceIn), options),
};

function nameOf({ kind, replicas }: Arena): string {
  return `${kind.store}, replicas: ${replicas}`;
}

async function raceIn(arena: Arena, { seed, isOver, log }: PartOptions): Promise<CampaignResult> {
  if (arena.kind.isMissing) return notTried(nameOf(arena));
  await using stack = new AsyncDisposableStack();
  const place = stack.use(await arena.kind.open());
  const args = ["--store", place.url];
  const servers: ChildServer[] = [];
  for (let number = 0; number < arena.replicas; number++) {
    servers.push(stack.use(await spawnServer({ args, startTimeoutMs: patienceMs })));
  }
  const callers = stack.use(openCallers(servers.map(({ url }) => url)));

  const recorder = new Recorder();
  let races = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const random = createRandom(seed, `${nameOf(arena)} ${lane}`);
      for (let number = 0; number < racesMin || !isOver(); number++) {
        const id = BigInt(lane - lanes / 2) * 2n ** 60n + BigInt(number);
        await raceFor(id, { random, callers, recorder });
        races++;
      }
    }),
  );
  await recorder.read(place.read);
  const found = linesOf(recorder.check(), nameOf(arena));
  // Only clients are disturbed, so no server may log a complaint.
  const failures = servers.flatMap(({ stderr }) => stderr.text.split("\n").filter(isComplaint));
  found.push(...failures.map((line) => `${nameOf(arena)}: the server logged ${line}`));
  log(`${nameOf(arena)}: ${races} races`);
  return { tried: { races, ...recorder.counts }, found };
}

interface Field {
  readonly random: Random;
  readonly callers: readonly Caller[];
  readonly recorder: Recorder;
}

/** How a client tries to store its plant; decided before the start. */
interface Racer {
  readonly plant: TestPlant;
  readonly startMs: number;
  /** For each try; the last one has enough time. */
  readonly tries: readonly {
    readonly caller: Caller;
    readonly deadlineMs: number;
    readonly leaveMs: number | undefined;
  }[];
}

async function raceFor(id: bigint, { random, callers, recorder }: Field): Promise<void> {
  const rivals = rivalPlants(id, random).slice(0, random.int(1, 3));
  // All on one connection, so that they share a commit.
  const shared = random.chance(0.5) ? random.pick(callers.filter(isMultiplexed)) : undefined;
  const first = shared && { caller: shared, deadlineMs, leaveMs: undefined };
  const racers = Array.from({ length: random.int(3, 8) }, (): Racer => {
    const tries = Array.from({ length: random.int(1, triesMax) }, () => ({
      caller: random.pick(callers),
      deadlineMs: random.chance(0.3) ? random.int(1, 30) : deadlineMs,
      leaveMs: random.chance(0.2) ? random.int(0, 15) : undefined,
    }));
    const startMs = shared === undefined ? random.int(0, 4) : 0;
    return { plant: random.pick(rivals), startMs, tries: first ? [first, ...tries] : tries };
  });
  await Promise.all(racers.map((racer, index) => run(racer, `racer ${index}`, recorder)));
}

function isMultiplexed({ protocol }: Caller): boolean {
  return protocol.endsWith("HTTP/2");
}

async function run({ plant, startMs, tries }: Racer, client: string, recorder: Recorder) {
  await delay(startMs);
  for (const { caller, deadlineMs, leaveMs } of tries) {
    const leave = leaveMs === undefined ? undefined : AbortSignal.timeout(leaveMs);
    await recorder.request({ client: `${client} over ${caller.protocol}`, plant, deadlineMs }, () =>
      caller.create(plant, deadlineMs, leave),
    );
  }
}
