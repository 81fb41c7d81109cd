/** Ten times the requests that the server can handle. */
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { Load } from "../../../bench/load/load.ts";
import { runGenerator } from "../../../bench/load/run-generator.ts";
import { token } from "../../../bench/requests.ts";
import { readValue } from "../../../src/store/sqlite/driver.ts";
import { type ChildServer, spawnServer } from "../../support/child-server.ts";
import { knownToken } from "../../support/test-server.ts";
import type { CampaignResult } from "../campaign.ts";
import { type Caller, openCallers } from "../load/caller.ts";
import { patienceMs } from "../start-server.ts";
import type { PartOptions } from "./overload.ts";
import { recover } from "./recover.ts";

/** The share of the rate without overload: here, the generator uses part of the same cores. */
const goodputMin = 0.5;

/** The requests of all clients at once would take many times that. */
const heapMiB = 256;

/** Including buffers, threads and code. */
const residentMiBMax = 512;

const sampleIntervalMs = 250;

export async function flood({ partMs, log }: PartOptions): Promise<CampaignResult> {
  const found: string[] = [];
  const heap = `--max-old-space-size=${heapMiB}`;
  const env = { PLANT_STORE_TOKENS: `${knownToken},${token}`, NODE_OPTIONS: heap };
  await using server = await spawnServer({ env, startTimeoutMs: patienceMs });
  const { database } = server;
  const seconds = Math.max(3, Math.min(30, partMs / 4000));
  const common = { urls: [server.url], kind: "grpc", until: { seconds } } as const;

  const peak = await measure(database, {
    ...common,
    ids: { stream: 0, order: "random" },
    connections: 8,
    streams: 32,
  });
  const probes = new AbortController();
  using callers = openCallers(server.url);
  const [caller] = callers;
  if (caller === undefined) throw new Error("no caller");
  const probing = probe(caller, probes.signal);
  const over = await measure(database, {
    ...common,
    ids: { stream: 1, order: "random" },
    connections: 96, // with more concurrent requests than the store's queue holds
    streams: 256,
    rate: Math.round(10 * peak),
  });
  probes.abort();
  const { stored, refused, odd } = await probing;

  const ratio = over / peak;
  log(`flood: ${Math.round(peak)}/s at the peak, ${Math.round(over)}/s under ten times that`);
  log(`flood: a probe is stored in ${spread(stored)}, refused in ${spread(refused)}`);
  if (ratio < goodputMin) found.push(`flood: goodput fell to ${ratio.toFixed(2)} of the peak`);
  found.push(...odd.map((reason) => `flood: ${reason}`));
  const resident = residentMiB(server);
  if (resident !== undefined) log(`flood: ${resident} MiB resident at most`);
  if ((resident ?? 0) > residentMiBMax) found.push(`flood: the server took ${resident} MiB`);
  found.push(...(await recover("flood", server)));
  const percent = Math.round(100 * ratio);
  return { tried: { floods: 1, "flood goodput, % of peak": percent }, found };
}

/** Plants stored per second while a generator runs, counted in the store, whatever clients saw. */
async function measure(database: string, load: Load): Promise<number> {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  const count = () => Number(readValue(db, "SELECT count(*) FROM plants"));
  const samples: { readonly at: number; readonly plants: number }[] = [];
  const ended = runGenerator(load).then(
    () => true,
    () => true, // late answers do not matter here
  );
  try {
    for (;;) {
      samples.push({ at: performance.now(), plants: count() });
      if ((await Promise.race([ended, delay(sampleIntervalMs)])) === true) break;
    }
  } finally {
    db.close();
  }
  return bestRate(samples, 1000 * ("seconds" in load.until ? load.until.seconds / 2 : 1));
}

/** The best interval of that length: a generator needs time to start and to end. */
function bestRate(
  samples: readonly { readonly at: number; readonly plants: number }[],
  stretchMs: number,
): number {
  let best = 0;
  for (const [index, first] of samples.entries()) {
    const last = samples.slice(index).find(({ at }) => at - first.at >= stretchMs);
    if (last === undefined) break;
    best = Math.max(best, ((last.plants - first.plants) / (last.at - first.at)) * 1000);
  }
  return best;
}

/** One client with occasional requests, as one of many would see it. */
async function probe(caller: Caller, end: AbortSignal) {
  const stored: number[] = [];
  const refused: number[] = [];
  const odd: string[] = [];
  for (let id = 1n; !end.aborted; id++) {
    const begin = performance.now();
    const outcome = await caller.create({ id, name: "probe" }, 30_000);
    const ms = performance.now() - begin;
    if (outcome.kind === "stored") stored.push(ms);
    else if (outcome.kind === "unknown" && outcome.why === "unavailable") refused.push(ms);
    else odd.push(`a probe was ${JSON.stringify(outcome)} after ${Math.round(ms)} ms`);
    await delay(20);
  }
  return { stored, refused, odd };
}

function spread(values: number[]): string {
  const sorted = values.sort((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
  if (sorted.length === 0) return "no case";
  return `${at(0.5)} ms (at most ${at(1)} ms, ${sorted.length} times)`;
}

function residentMiB({ process: { pid } }: ChildServer): number | undefined {
  if (process.platform !== "linux") return undefined;
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
