/** SIGTERM under load: requests that were started are finished, and no others are started. */
import { setTimeout as delay } from "node:timers/promises";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { spawnServer } from "../../support/child-server.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import type { CampaignResult } from "../campaign.ts";
import { openCallers, wordFor } from "../load/caller.ts";
import { createRandom, type Random } from "../random.ts";
import { patienceMs } from "../start-server.ts";
import type { PartOptions } from "./overload.ts";

const drainsMax = 100;
const drainsMin = 3;
const clientCount = 24;

export async function drain({ seed, isOver, log }: PartOptions): Promise<CampaignResult> {
  const random = createRandom(seed, "drain");
  const found: string[] = [];
  let drains = 0;
  let requests = 0;
  while (drains < drainsMax && found.length === 0 && (drains < drainsMin || !isOver())) {
    requests += await drainOnce(random, found);
    drains++;
  }
  log(`drain: ${drains} times`);
  return { tried: { drains, "drained requests": requests }, found };
}

/** @returns the number of requests. */
async function drainOnce(random: Random, found: string[]): Promise<number> {
  await using server = await spawnServer({ startTimeoutMs: patienceMs });
  using callers = openCallers(server.url);
  const outcomes = new Map<bigint, string>();
  const drainAt = random.int(1, 300);
  let stored = 0;
  let isDraining = false;

  async function use(): Promise<void> {
    for (;;) {
      const wasDraining = isDraining;
      const id = BigInt(outcomes.size);
      outcomes.set(id, "asked");
      const outcome = await random.pick(callers).create({ id, name: "x" }, 30_000);
      outcomes.set(id, wordFor(outcome));
      if (outcome.kind === "failed") found.push(`drain: ${outcome.reason}`);
      if (outcome.kind !== "stored" && !isDraining) {
        found.push(`drain: ${outcomes.get(id)} from a server that nobody has told to end`);
        isDraining = true;
        server.process.kill("SIGTERM");
      }
      // The connection of its protocol may end before others do, so it retries until all have
      // ended.
      if (wasDraining && outcome.kind !== "stored") return;
      if (outcome.kind === "stored") stored++;
      else await delay(5);
      if (stored === drainAt && !isDraining) {
        isDraining = true;
        server.process.kill("SIGTERM");
      }
    }
  }

  await Promise.all(Array.from({ length: clientCount }, use));
  const { code } = await within("the end of the server", server.exited, patienceMs);
  if (code !== 0) found.push(`drain: exit code ${code}: ${server.stderr.text.slice(-1000)}`);
  const plants = readStoredPlants(server.database);
  const there = new Set(plants.map(({ id }) => id));
  for (const [id, outcome] of outcomes) {
    const problem = findProblem(outcome, there.has(id));
    if (problem !== undefined) found.push(`drain: plant ${id} ${problem}`);
  }
  return outcomes.size;
}

/**
 * It is not an error if a connection closes before its request was read: the plant is not there.
 */
function findProblem(outcome: string, isThere: boolean): string | undefined {
  switch (outcome) {
    case "stored":
      return isThere ? undefined : "was acknowledged and is lost";
    case "cut":
      return isThere ? "was stored, and its client cut off" : undefined;
    case "unavailable":
      return undefined;
    default:
      return `ended as ${outcome}`;
  }
}
