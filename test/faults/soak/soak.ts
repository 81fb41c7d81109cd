/**
 * `npm run test:faults -- soak`: a service under a modest load for hours, with
 * operations that otherwise happen over months. Looks for growth.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  addCounts,
  type Campaign,
  type CampaignOptions,
  type CampaignResult,
  count,
  notTried,
} from "../campaign.ts";
import { linesOf } from "../history/recorder.ts";
import { checkIntegrity } from "../integrity.ts";
import { LoadClient } from "../load/client.ts";
import { createRandom } from "../random.ts";
import { readLines } from "./journal.ts";
import { operations } from "./operations.ts";
import { writeReport } from "./report.ts";
import type { Sample } from "./sample.ts";
import { openServices, type Services, type SoakStore } from "./services.ts";

/** Each with one request at a time. */
const clientsPerStore = 2;

/** Between two requests of a client: a few plants a second in all, a few percent of a core. */
const pauseMs = 800;

const deadlineMs = 10_000;

/** For a long run; a short one has more events. */
const longest = { sampleMs: 30_000, operationMs: 120_000 };

/** In the shortest run: enough to see that everything works. */
const least = { samples: 60, operations: 2 * Object.keys(operations).length };

/** @param folder For results, and for the next piece of the same run. */
export function soakIn(folder: string): Campaign {
  return { name: "soak", run: (options) => runPiece(resolve(folder), options) };
}

async function runPiece(folder: string, options: CampaignOptions): Promise<CampaignResult> {
  if (process.platform !== "linux") return notTried("it reads /proc");
  mkdirSync(folder, { recursive: true });
  const samplesFile = join(folder, "samples.ndjson");
  const earlier = readLines<Sample>(samplesFile);
  const piece = 1 + new Set(earlier.map(({ life }) => life.split(" ")[0])).size;
  await using services = await openServices(folder, piece);
  const { minutes, signal, log } = options;
  const runMs = Math.round(minutes * 60_000);
  const over = AbortSignal.any([signal, AbortSignal.timeout(runMs)]);
  const found: string[] = [];
  const tried: Record<string, number> = { pieces: 1 };

  const clients = [services.sqlite, services.postgres].flatMap((store, index) =>
    Array.from({ length: clientsPerStore }, (_, number) => {
      const client = piece * 100 + index * clientsPerStore + number;
      return use(store, { client, seed: options.seed, over, underWay: services.underWay });
    }),
  );
  const samples: Sample[] = [];
  const sampling = repeat(Math.min(longest.sampleMs, runMs / least.samples), over, async () => {
    for (const { server } of [services.sqlite, services.postgres]) {
      const sample = await server.sample(`${piece} ${server.name}`);
      samples.push(sample);
      appendFileSync(samplesFile, `${JSON.stringify(sample)}\n`);
    }
  });
  const random = createRandom(options.seed, `operations ${piece}`);
  let number = piece * 10_000;
  let names: string[] = [];
  const doing = repeat(Math.min(longest.operationMs, runMs / least.operations), over, async () => {
    if (names.length === 0) names = random.shuffle(Object.keys(operations));
    const name = names.pop() ?? "";
    const wrong = await operations[name]?.(services, { random, number: number++, over });
    found.push(...(wrong ?? []).map((line) => `${name}: ${line}`));
    count(tried, name);
    if (names.length === 0) log(`${samples.length} samples, ${JSON.stringify(tried)}`);
  });
  const ends = await Promise.allSettled([sampling, doing, ...clients]);
  for (const end of ends) {
    if (end.status === "rejected") found.push(`broke off: ${end.reason?.stack ?? end.reason}`);
  }

  found.push(...(await finish(services)));
  for (const { name, recorder } of [services.sqlite, services.postgres]) {
    for (const [what, times] of Object.entries(recorder.counts)) {
      addCounts(tried, { [`${name}: ${what}`]: times });
    }
  }
  found.push(...(await writeReport(folder, [...earlier, ...samples])));
  log(`slopes.md and soak.svg are in ${folder}`);
  return { tried, found };
}

interface Use {
  readonly client: number;
  readonly seed: number;
  readonly over: AbortSignal;
  readonly underWay: Set<Promise<unknown>>;
}

/** Until the end, and until it knows the outcome of its last plant. */
async function use({ recorder, callers }: SoakStore, options: Use): Promise<void> {
  const { client, seed, over, underWay } = options;
  const deadlinesMs = [deadlineMs, deadlineMs] as const;
  const load = new LoadClient(client, { seed, recorder, deadlinesMs });
  while (!over.aborted || load.isPending) {
    const request = load.step(callers);
    underWay.add(request);
    await request.finally(() => underWay.delete(request));
    await delay(pauseMs, undefined, { signal: over }).catch(() => {});
  }
}

/** Repeats until the end. */
async function repeat(
  everyMs: number,
  over: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const isOver = () => delay(everyMs, false, { signal: over }).catch(() => true);
  while (!(await isOver())) await work();
}

async function finish({ sqlite, postgres }: Services): Promise<string[]> {
  const found: string[] = [];
  for (const server of [sqlite.server, postgres.server, postgres.second]) {
    if (!server.isRunning) found.push(`${server.name} ended by itself`);
    const code = await server.drain();
    if (code !== 0) found.push(`${server.name}: drained with exit code ${code}`);
  }
  for (const { name, recorder, read, url } of [sqlite, postgres]) {
    await recorder.read(read);
    found.push(...linesOf(recorder.check(), name));
    found.push(...(await checkIntegrity(url)).map((line) => `${name}: damaged: ${line}`));
  }
  return found;
}
