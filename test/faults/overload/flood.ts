/** Ten times the requests that the server can handle. */
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { Load } from "../../../bench/load/load.ts";
import { runGenerator } from "../../../bench/load/run-generator.ts";
import { token } from "../../../bench/requests.ts";
import { readValue } from "../../../src/store/sqlite/driver.ts";
import { knownToken } from "../../support/test-server.ts";
import type { Run } from "../campaign.ts";
import { type Caller, openCallers, wordFor } from "../load/caller.ts";
import { residentMiBMax, smallHeap, startServer, usageOf } from "../server.ts";
import { recover } from "./recover.ts";

/** The share of the rate without overload: here, the generator uses part of the same cores. */
const goodputMin = 0.5;

const sampleIntervalMs = 250;

export async function flood(run: Run): Promise<void> {
  // The requests of all clients at once would take many times this heap.
  const env = { ...smallHeap, PLANT_STORE_TOKENS: `${knownToken},${token}` };
  await using server = await startServer({ env });
  const { database } = server;
  const seconds = Math.max(3, Math.min(30, run.minutes * 15));
  const common = { urls: [server.url], kind: "grpc", until: { seconds } } as const;

  const peak = await measure(database, {
    ...{ ...common, ids: { stream: 0, order: "random" } },
    ...{ connections: 8, streams: 32 },
  });
  const probes = new AbortController();
  using callers = openCallers([server.url]);
  const probing = probe(callers[0] as Caller, probes.signal);
  const over = await measure(database, {
    ...{ ...common, ids: { stream: 1, order: "random" }, rate: Math.round(10 * peak) },
    ...{ connections: 96, streams: 256 }, // more requests than the store's queue holds
  });
  probes.abort();
  run.find("flood", await probing);

  const ratio = over / peak;
  run.log(`flood: ${Math.round(peak)}/s at the peak, ${Math.round(over)}/s under ten times that`);
  if (ratio < goodputMin) run.find("flood", [`goodput fell to ${ratio.toFixed(2)} of the peak`]);
  const resident = usageOf(server)?.peakMiB;
  if (resident !== undefined) run.log(`flood: ${resident} MiB resident at most`);
  if ((resident ?? 0) > residentMiBMax) run.find("flood", [`the server took ${resident} MiB`]);
  run.find("flood", await recover(server));
  run.count("floods");
  run.count("flood goodput, % of peak", Math.round(100 * ratio));
}

/**
 * Plants stored per second during a load, counted in the store, whatever clients saw: the best half
 * of its time, because a generator needs time to start and to end.
 */
async function measure(
  database: string,
  load: Load & { readonly until: { readonly seconds: number } },
): Promise<number> {
  using db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  const samples: { readonly at: number; readonly plants: number }[] = [];
  const over = new AbortController();
  // Late answers do not matter here.
  const ended = runGenerator(load)
    .catch(() => {})
    .finally(() => over.abort());
  do {
    const plants = Number(readValue(db, "SELECT count(*) FROM plants"));
    samples.push({ at: performance.now(), plants });
    await Promise.race([ended, delay(sampleIntervalMs)]);
  } while (!over.signal.aborted);
  const rates = samples.map((first) => {
    const last = samples.find(({ at }) => at - first.at >= load.until.seconds * 500);
    return last === undefined ? 0 : ((last.plants - first.plants) / (last.at - first.at)) * 1000;
  });
  return Math.max(...rates);
}

/** One client with occasional requests, as one of many would see it. @returns what it should not. */
async function probe(caller: Caller, end: AbortSignal): Promise<string[]> {
  const odd: string[] = [];
  for (let id = 1n; !end.aborted; id++) {
    const outcome = wordFor(await caller.create({ id, name: "probe" }, 30_000));
    if (!["stored", "unavailable"].includes(outcome)) odd.push(`a probe was ${outcome}`);
    await delay(20);
  }
  return odd;
}
