import { type ChildServer, spawnServer } from "../../support/child-server.ts";
import type { StoredPlant } from "../../support/stored-plants.ts";
import { type CampaignResult, count } from "../campaign.ts";
import { linesOf, Recorder } from "../history/recorder.ts";
import { checkIntegrity } from "../integrity.ts";
import { openCallers } from "../load/caller.ts";
import { createClients } from "../load/client.ts";
import { Load } from "../load/load.ts";
import { patienceMs } from "../start-server.ts";

/** What happens to a database while servers use it. */
export interface Disturbance {
  readonly seed: number;
  /** The store URL of each server. */
  readonly urls: readonly string[];
  readonly clientCount?: number;
  /** Reads all plants, from where they are now. */
  read(): Promise<readonly StoredPlant[]>;
  /** Where the engine checks its files at the end. Default: it does not. */
  integrityUrl?(): string;
  /** Injects the faults. What it throws is a broken promise. */
  inject(during: Disturbed): Promise<void>;
}

export interface Disturbed {
  readonly load: Load;
  /** Counts a fault. */
  readonly done: (name: string) => void;
  /** Reads all plants for the history. */
  readonly check: () => Promise<void>;
}

/** From less than a statement may take to less than the servers' retries. */
const deadlinesMs = [3000, 9000] as const;

/** Injects faults while clients use all of the servers. Then checks their history. */
export async function disturb(where: string, given: Disturbance): Promise<CampaignResult> {
  const { seed, urls, clientCount = 10, read } = given;
  await using stack = new AsyncDisposableStack();
  const servers: ChildServer[] = [];
  for (const url of urls) {
    const args = ["--store", url];
    servers.push(stack.use(await spawnServer({ args, startTimeoutMs: patienceMs })));
  }
  const callers = stack.use(openCallers(servers.map(({ url }) => url)));
  const recorder = new Recorder();
  const clients = createClients(clientCount, { seed, recorder, deadlinesMs });
  const load = stack.use(new Load({ clients, recorder, callers }));

  const tried: Record<string, number> = {};
  const broken: string[] = [];
  const note = (error: unknown) => {
    broken.push(error instanceof Error ? error.message : String(error));
  };
  const done = (name: string) => count(tried, name);
  await given.inject({ load, done, check: () => recorder.read(read) }).catch(note);
  await load.settle().catch(note);
  await recorder.read(read);
  const ended = servers.filter(({ process }) => process.exitCode !== null);
  broken.push(...ended.map(({ stderr }) => `a replica ended: ${stderr.text}`));
  const damage = given.integrityUrl === undefined ? [] : await checkIntegrity(given.integrityUrl());
  broken.push(...damage.map((line) => `damaged: ${line}`));
  const found = [...broken.map((line) => `${where}: ${line}`), ...linesOf(recorder.check(), where)];
  return { tried: { ...tried, ...recorder.counts }, found };
}
