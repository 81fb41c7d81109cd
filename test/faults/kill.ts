/**
 * Kills the server at any moment under load over all protocols, and restarts it on the same store.
 * Nothing that it acknowledged may be lost or changed.
 */
import { setTimeout as delay } from "node:timers/promises";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { spawnChild } from "../support/child.ts";
import type { ChildServer } from "../support/child-server.ts";
import { type StoreKind, type StorePlace, storeKinds } from "../support/store-place.ts";
import { knownToken } from "../support/test-server.ts";
import {
  type Campaign,
  type CampaignResult,
  inEqualParts,
  notTried,
  type PartOptions,
  runParts,
} from "./campaign.ts";
import { linesOf, Recorder } from "./history/recorder.ts";
import { checkIntegrity } from "./integrity.ts";
import { openCallers } from "./load/caller.ts";
import { createClients, type LoadClient } from "./load/client.ts";
import { Load } from "./load/load.ts";
import { createRandom, type Random } from "./random.ts";
import { patienceMs, startServer } from "./start-server.ts";

/** For each engine. A run with more time stops there. */
const killsMax = 500;

/** Even with little time: the first is while the store is created, the second under load. */
const killsMin = 3;

/** The number of kills for each store, because the whole store is read after each of them. */
const killsPerStore = 25;

const clientCount = 12;

/** Long, because here the kill ends requests. */
const deadlinesMs = [8000, 10_000] as const;

export const kill: Campaign = {
  name: "kill",
  run: (options) => runParts(inEqualParts(storeKinds, killOn), options),
};

async function killOn(
  kind: StoreKind,
  { seed, log, isOver }: PartOptions,
): Promise<CampaignResult> {
  if (kind.isMissing) return notTried(`${kind.store}: there is none here`);
  const count = { kills: 0, "kills at the start": 0, requests: 0, stored: 0 };
  const found: string[] = [];
  const isDone = () => isOver() || count.kills + count["kills at the start"] >= killsMax;
  for (let number = 0; number === 0 || (found.length === 0 && !isDone()); number++) {
    await using place = await kind.open();
    await using folder = await createTemporaryFolder();
    const random = createRandom(seed, `${kind.store} ${number}`);
    const recorder = new Recorder();
    const clients = createClients(clientCount, { seed: seed + number, recorder, deadlinesMs });
    const service = { place, cwd: folder.path, random, recorder, clients };
    try {
      for (let round = 0; round < killsMin || (round < killsPerStore && !isDone()); round++) {
        const isAtStart = round === 0 || (round > 1 && random.chance(0.15));
        if (isAtStart) await killAtStart(service);
        else await killUnderLoad(service);
        count[isAtStart ? "kills at the start" : "kills"]++;
      }
      await settle(service);
    } catch (error) {
      found.push(`${kind.store}: ${error instanceof Error ? error.message : error}`);
    }
    await recorder.read(place.read);
    found.push(...linesOf(recorder.check(), kind.store));
    const damage = await checkIntegrity(place.url);
    found.push(...damage.map((line) => `${kind.store}: damaged: ${line}`));
    for (const times of Object.values(recorder.counts)) count.requests += times;
    count.stored += recorder.stored;
    log(`${kind.store}: ${count.kills + count["kills at the start"]} kills`);
  }
  const named = Object.entries(count).map(([what, times]) => [`${kind.store} ${what}`, times]);
  return { tried: Object.fromEntries(named), found };
}

interface Service {
  readonly place: StorePlace;
  readonly cwd: string;
  readonly random: Random;
  readonly recorder: Recorder;
  readonly clients: readonly LoadClient[];
}

/** Before anybody could use it: while it creates the store, or repairs what the last kill left. */
async function killAtStart(service: Service): Promise<void> {
  const env = { PLANT_STORE_TOKENS: knownToken };
  const args = ["serve", "--port", "0", "--store", service.place.url];
  await using child = spawnChild(args, { cwd: service.cwd, env });
  await delay(service.random.int(100, 900));
  child.process.kill("SIGKILL");
  await within("the end of the server", child.exited, patienceMs);
}

async function killUnderLoad(service: Service): Promise<void> {
  const { place, random, recorder, clients } = service;
  await using server = await start(service);
  await recorder.read(place.read);
  using callers = openCallers(server.url);
  await using load = new Load({ clients, recorder, callers });
  // A kill right after an answer reveals one that was sent too early.
  const stored = load.untilStored(random.int(1, 100));
  const pauseMs = random.chance(0.5) ? 0 : random.int(1, 40);
  const gone = server.exited.then(() => {
    throw new Error(`the server is gone: ${server.stderr.text}`);
  });
  await Promise.race([stored, gone]);
  if (pauseMs > 0) await delay(pauseMs);
  server.process.kill("SIGKILL");
  load.stop();
  await within("the end of the server", server.exited, patienceMs);
}

/** Clients retry until they know: they repeat the requests that a kill interrupted. */
async function settle(service: Service): Promise<void> {
  await using server = await start(service);
  using callers = openCallers(server.url);
  const { clients, recorder } = service;
  await new Load({ clients, recorder, callers }).settle();
}

function start({ cwd, place }: Service): Promise<ChildServer> {
  return startServer(cwd, ["--store", place.url]);
}
