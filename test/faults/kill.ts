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
import { type Campaign, type Run, runParts } from "./campaign.ts";
import { openCallers } from "./load/caller.ts";
import { type Clients, createClients, type Load, openLoad } from "./load/load.ts";
import { createRandom, type Random } from "./random.ts";
import { deathOf, patienceMs, startServer } from "./server.ts";

/** For each engine. A run with more time stops there. */
const killsMax = 500;
/** Even with little time: the first is while the store is created, the second under load. */
const killsMin = 3;
/** The number of kills for each store, because the whole store is read after each of them. */
const killsPerStore = 25;
const clientCount = 12;
/** Long, because here the kill ends requests. */
const deadlinesMs = [8000, 10_000] as const;

const parts = storeKinds.map((kind) => (run: Run) => killOn(kind, run));
export const kill: Campaign = { name: "kill", run: (run) => runParts(run, parts) };

async function killOn({ store, isMissing, open }: StoreKind, run: Run): Promise<void> {
  if (isMissing) return run.skip(`${store}: there is none here`);
  let kills = 0;
  const isDone = () => run.isOver() || kills >= killsMax;
  for (let number = 0; number === 0 || (run.found.length === 0 && !isDone()); number++) {
    await using place = await open();
    await using folder = await createTemporaryFolder();
    const random = createRandom(run.seed, `${store} ${number}`);
    const clients = createClients({ count: clientCount, seed: run.seed + number, deadlinesMs });
    const service: Service = { place, cwd: folder.path, random, clients };
    await run.attempt(store, async () => {
      for (let round = 0; round < killsMin || (round < killsPerStore && !isDone()); round++) {
        const isAtStart = round === 0 || (round > 1 && random.chance(0.15));
        await (isAtStart ? killAtStart(service) : killUnderLoad(service));
        run.count(`${store} kills${isAtStart ? " at the start" : ""}`);
        kills++;
      }
      // Clients retry until they know: they repeat the requests that a kill interrupted.
      await underLoad(service, (_, load) => load.settle());
    });
    await clients.recorder.judge(run, store, place);
    run.log(`${store}: ${kills} kills`);
  }
}

export interface Service {
  readonly place: StorePlace;
  readonly cwd: string;
  readonly random: Random;
  readonly clients: Clients;
}

/** Before anybody could use it: while it creates the store, or repairs what the last kill left. */
async function killAtStart({ cwd, place, random }: Service): Promise<void> {
  const args = ["serve", "--port", "0", "--store", place.url];
  await using child = spawnChild(args, { cwd, env: { PLANT_STORE_TOKENS: knownToken } });
  await delay(random.int(100, 900));
  child.process.kill("SIGKILL");
  await within("the end of the server", child.exited, patienceMs);
}

async function killUnderLoad(service: Service): Promise<void> {
  const { random } = service;
  await underLoad(service, async (server, load) => {
    // A kill right after an answer reveals one that was sent too early.
    const stored = load.untilStored(random.int(1, 100));
    const pauseMs = random.chance(0.5) ? 0 : random.int(1, 40);
    await Promise.race([stored, server.exited]);
    const [death] = deathOf(server);
    if (death !== undefined) throw new Error(death);
    if (pauseMs > 0) await delay(pauseMs);
    server.process.kill("SIGKILL");
    void load.stop();
    await within("the end of the server", server.exited, patienceMs);
  });
}

export async function underLoad(
  { place, cwd, clients }: Service,
  work: (server: ChildServer, load: Load) => Promise<void>,
): Promise<void> {
  await using server = await startServer({ cwd, args: ["--store", place.url] });
  await clients.recorder.read(place);
  using callers = openCallers([server.url]);
  await using load = openLoad(clients, callers);
  await work(server, load);
}
