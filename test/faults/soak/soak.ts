/**
 * `npm run test:faults -- soak`: a service under a modest load for hours, with
 * operations that otherwise happen over months. Looks for growth.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Campaign, Run } from "../campaign.ts";
import { createRandom } from "../random.ts";
import { operations } from "./operations.ts";
import { type Sample, writeReport } from "./report.ts";
import { openServices } from "./services.ts";

/** For a long run; a short one has more events. */
const longest = { sampleMs: 30_000, operationMs: 120_000 };

/** In the shortest run: enough to see that everything works. */
const least = { samples: 60, operations: 2 * Object.keys(operations).length };

/** @param parent Each run has its own folder there. */
export function soakIn(parent: string): Campaign {
  const name = new Date().toISOString().replaceAll(":", "-");
  return { name: "soak", run: (run) => runIn(resolve(parent, name), run) };
}

async function runIn(folder: string, run: Run): Promise<void> {
  if (process.platform !== "linux") return run.skip("it reads /proc");
  mkdirSync(folder, { recursive: true });
  const samples: Sample[] = [];
  await using services = await openServices(folder, run.seed);
  const stores = [services.sqlite, services.postgres];
  const runMs = Math.round(run.minutes * 60_000);
  const over = AbortSignal.any([run.signal, AbortSignal.timeout(runMs)]);

  const sampling = repeat(Math.min(longest.sampleMs, runMs / least.samples), over, async () => {
    for (const { server } of stores) {
      const sample = await server.sample();
      samples.push(sample);
      appendFileSync(`${folder}/samples.ndjson`, `${JSON.stringify(sample)}\n`);
    }
  });
  const random = createRandom(run.seed, "operations");
  let number = 0;
  let names: string[] = [];
  const operationMs = Math.min(longest.operationMs, runMs / least.operations);
  const operating = repeat(operationMs, over, async () => {
    if (names.length === 0) names = random.shuffle(Object.keys(operations));
    const name = names.pop() ?? "";
    const wrong = await operations[name]?.(services, { random, number: number++, over });
    run.find(name, wrong ?? []);
    run.count(name);
    if (names.length > 0) return;
    run.log(`${samples.length} samples, ${JSON.stringify(run.tried)}`);
  });
  await Promise.all([sampling, operating].map((one) => run.attempt("broke off", () => one)));
  for (const { name, load } of stores) await run.attempt(name, () => load.settle());
  for (const server of [services.sqlite.server, services.postgres.server, services.postgres.second])
    run.found.push(...(await server.drain()));
  for (const store of stores) await store.recorder.judge(run, store.name, store);
  run.found.push(...(await writeReport(folder, samples)));
  run.log(`slopes.md is in ${folder}`);
}

/** Repeats until the end. */
async function repeat(everyMs: number, over: AbortSignal, work: () => Promise<void>) {
  const isOver = () => delay(everyMs, false, { signal: over }).catch(() => true);
  while (!(await isOver())) await work();
}
