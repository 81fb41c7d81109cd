import type { PostgresInstallation } from "../../support/postgres-installation.ts";
import { type Run, runParts } from "../campaign.ts";
import type { ReadableStore } from "../history/recorder.ts";
import { openCallers } from "../load/caller.ts";
import { createClients, type Load, openLoad } from "../load/load.ts";
import { deathOf, startServers } from "../server.ts";

export interface PostgresRun extends Run {
  readonly installation: PostgresInstallation;
  /** The number of a fault for this run, of its full number; at least one. */
  scaled(full: number): number;
}

type Part = (run: PostgresRun) => Promise<void>;

type Parts = readonly [
  /** The duration for the full numbers of faults. A shorter run has fewer. */
  fullMinutes: number,
  first: Part,
  /** Needs copies of running servers. */
  second: Part,
];

export async function runOn(
  installations: readonly PostgresInstallation[],
  run: Run,
  [fullMinutes, first, second]: Parts,
): Promise<void> {
  const scale = Math.min(1, run.minutes / fullMinutes);
  const scaled = (full: number) => Math.max(1, Math.round(full * scale));
  const on = (part: Part, installation: PostgresInstallation) => (run: Run) =>
    part({ ...run, installation, scaled });
  const [any] = installations;
  const copying = installations.find(({ hasBaseBackup }) => hasBaseBackup);
  if (any === undefined) return run.skip("there is no PostgreSQL for it here");
  if (copying === undefined) run.skip("promotions: no PostgreSQL here has pg_basebackup");
  const parts = [on(first, any), ...(copying ? [on(second, copying)] : [])];
  await runParts(run, parts, [2 / 3, 1 / 3]);
}

/** What happens to a database while servers use it. */
interface Disturbance {
  /** The store URL of each server. */
  readonly urls: readonly string[];
  /** From where its plants are at the time. */
  readonly store: ReadableStore;
  readonly clientCount?: number;
  /** Injects the faults. What it throws is a broken promise. `check` reads all plants. */
  inject(during: { load: Load; check: () => Promise<void> }): Promise<void>;
}

/** From less than a statement may take to less than the servers' retries. */
const deadlinesMs = [3000, 9000] as const;

/** Injects faults while clients use all of the servers. Then checks their history. */
export async function disturb(where: string, run: Run, given: Disturbance): Promise<void> {
  const { urls, store, clientCount = 10, inject } = given;
  await using stack = new AsyncDisposableStack();
  const servers = await startServers(stack, urls);
  const callers = stack.use(openCallers(servers.map(({ url }) => url)));
  const clients = createClients({ count: clientCount, seed: run.seed, deadlinesMs });
  const { recorder } = clients;
  const load = stack.use(openLoad(clients, callers));
  await run.attempt(where, () => inject({ load, check: () => recorder.read(store) }));
  await run.attempt(where, () => load.settle());
  run.find(where, servers.flatMap(deathOf));
  await recorder.judge(run, where, store);
}
