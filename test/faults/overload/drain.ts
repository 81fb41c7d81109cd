/** SIGTERM under load: requests that were started are finished, and no others are started. */
import { setTimeout as delay } from "node:timers/promises";
import { readStoredPlants } from "../../support/stored-plants.ts";
import type { Run } from "../campaign.ts";
import { openCallers, wordFor } from "../load/caller.ts";
import { createRandom, type Random } from "../random.ts";
import { endOf, startServer } from "../server.ts";

const drainsMax = 100;
const drainsMin = 3;
const clientCount = 24;

export async function drain(run: Run): Promise<void> {
  const random = createRandom(run.seed, "drain");
  let drains = 0;
  while (drains < drainsMax && run.found.length === 0 && (drains < drainsMin || !run.isOver())) {
    await drainOnce(random, run);
    drains++;
  }
  run.count("drains", drains);
  run.log(`drain: ${drains} times`);
}

async function drainOnce(random: Random, run: Run): Promise<void> {
  await using server = await startServer();
  using callers = openCallers([server.url]);
  const outcomes = new Map<bigint, string>();
  const find = (line: string) => run.find("drain", [line]);
  const drainAt = random.int(1, 300);
  let stored = 0;
  let isDraining = false;

  async function use(): Promise<void> {
    for (;;) {
      const wasDraining = isDraining;
      const id = BigInt(outcomes.size);
      outcomes.set(id, "asked");
      const outcome = wordFor(await random.pick(callers).create({ id, name: "x" }, 30_000));
      outcomes.set(id, outcome);
      const isStored = outcome === "stored";
      if (isStored) stored++;
      else if (!isDraining) find(`${outcome} from a server that nobody has told to end`);
      // The connection of its protocol may end before others do, so it retries until all have
      // ended.
      if (wasDraining && !isStored) return;
      if (!isStored) await delay(5);
      if (!isDraining && (stored === drainAt || !isStored)) {
        isDraining = true;
        server.process.kill("SIGTERM");
      }
    }
  }

  await Promise.all(Array.from({ length: clientCount }, use));
  run.find("drain", await endOf(server));
  const there = new Set(readStoredPlants(server.database).map(({ id }) => id));
  for (const [id, outcome] of outcomes) {
    const isThere = there.has(id);
    if (outcome === "stored" && !isThere) find(`plant ${id} was acknowledged and is lost`);
    // It is not an error if a connection closes before its request was read.
    if (outcome === "cut" && isThere) find(`plant ${id} was stored, and its client cut off`);
    if (!["stored", "cut", "unavailable"].includes(outcome))
      find(`plant ${id} ended as ${outcome}`);
  }
  run.count("drained requests", outcomes.size);
}
