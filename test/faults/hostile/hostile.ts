/**
 * A server with default settings, attacked with everything that strangers can send, while
 * well-behaved clients create plants. It must continue to work, stay within its limits and its
 * memory, report no client's error as its own, and store only what was requested.
 */

import { setTimeout as delay } from "node:timers/promises";
import { quantile } from "../../../bench/statistics.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { textFields } from "../../../src/plant.ts";
import { sqliteKind } from "../../support/store-place.ts";
import { type StoredPlant, storedForm } from "../../support/stored-plants.ts";
import { type Campaign, count } from "../campaign.ts";
import type { TestPlant } from "../history/check.ts";
import { Recorder } from "../history/recorder.ts";
import { createRandom } from "../random.ts";
import { complaintsOf, residentMiBMax, startServer, usageOf, watchMemory } from "../server.ts";
import { attackAll } from "./attackers.ts";
import { createCorpus } from "./corpus/corpus.ts";
import { bombs } from "./floods/bombs.ts";
import { departures } from "./floods/excess.ts";
import type { Flood, FloodResult } from "./floods/flood.ts";
import { frameFloods } from "./floods/frames.ts";
import { hoarding, smallServer } from "./floods/hoards.ts";
import { openWitness } from "./witness.ts";

/** Distinct attacks, in ten minutes. */
const attacksPerMinute = 2000;
/** After this many rounds, code is compiled, and the allocator has what most floods need. */
const warmUpRounds = 3;
/** In each round of the warm-up: all of them together reach all code. */
const warmUpAttacks = 200;
/** Concurrent attacks of the corpus. */
const atOnce = 16;
/** A round is all floods once, and a part of the corpus. */
const roundMinutes = 1;
const restMs = 5000;
const collectionMs = 1000;
/** The allowed memory growth of a repetition: a leak of a KiB per request would exceed it. */
const growthMaxMiB = 32;
/** The allowed growth of open files in a repetition: well-behaved clients open a few again. */
const moreFilesMax = 8;
const floods: readonly Flood[] = [...frameFloods, bombs, departures, hoarding];

export const hostile: Campaign = {
  name: "hostile",
  async run(run) {
    const { seed, minutes, signal, log, find } = run;
    await using stack = new AsyncDisposableStack();
    const place = stack.use(await sqliteKind.open());
    const cwd = stack.use(await createTemporaryFolder()).path;
    const args = ["--store", place.url];
    const server = stack.use(await startServer({ cwd, args, env: smallServer }));
    const corpus = createCorpus(seed);
    const answers: Record<string, number> = {};
    /** Valid plants of the attackers, which may be stored. */
    const sound: TestPlant[] = [];

    async function watch(name: string, work: () => Promise<FloodResult>): Promise<void> {
      using memory = watchMemory(server);
      const result = await work();
      run.count(name, result.count);
      run.found.push(...result.found);
      if (memory.peakMiB > residentMiBMax) find(name, [`${memory.peakMiB} MiB resident`]);
    }

    async function round(max: number): Promise<void> {
      const { url, port } = server;
      const target = { url, port, signal, random: createRandom(seed, "floods") };
      for (const flood of floods) {
        if (signal.aborted) return;
        await watch(flood.name, () => flood.run(target));
      }
      await watch("distinct requests", async () => {
        const report = await attackAll(corpus, { ...target, atOnce, max });
        for (const answer of report.answers) count(answers, answer);
        sound.push(...report.sound);
        return report;
      });
    }

    /** Lets the server become idle, except for well-behaved clients, and collect its garbage. */
    async function rest() {
      await delay(restMs);
      server.process.kill("SIGWINCH");
      await delay(collectionMs);
      return usageOf(server);
    }

    await using witness = openWitness({ url: server.url, seed });
    for (let warmUp = 0; warmUp < warmUpRounds; warmUp++) await round(warmUpAttacks);
    let before = await rest();
    if (before !== undefined) {
      log(`after the warm-up: ${before.memoryMiB} MiB, ${before.files} files open`);
    }
    const end = performance.now() + minutes * 60_000;
    const rounds = Math.max(1, Math.round(minutes / roundMinutes));
    let done = 0;
    while (done < rounds && !signal.aborted && performance.now() < end) {
      await round(Math.ceil((attacksPerMinute * minutes) / rounds));
      done++;
      if (run.found.length > 0) break;
    }
    let after = await rest();
    if (complain(before, after).length > 0) {
      // What the allocator keeps grows once. A leak grows each time.
      before = after;
      for (let again = 0; again < done; again++) await round(warmUpAttacks);
      after = await rest();
    }
    if (before === undefined || after === undefined) {
      run.skip("memory and open files: only Linux tells them");
    } else {
      log(`at the end: ${after.memoryMiB} MiB, ${after.files} files open`);
      find("at the end", complain(before, after));
    }

    const recorder = new Recorder();
    recorder.adopt(await witness.finish());
    const waits = recorder.requests.map((one) => one.endMs - one.startMs).sort((a, b) => a - b);
    // Only reported: attackers, the server and waiting clients share the same processors.
    log(`clients that behave: p99 ${quantile(waits, 0.99).toFixed(1)} ms`);
    log(`answers: ${JSON.stringify(answers)}`);
    const read = async () => withoutSound(await place.read(), sound);
    await recorder.judge(run, "clients that behave", { read });
    // Strangers cause the only faults here, so any failure is due to them.
    for (const why of ["cut", "unavailable", "deadline", "unanswered"]) {
      const times = recorder.counts[why];
      if (times !== undefined) find(`${times} requests of clients that behave`, [why]);
    }
    run.found.push(...complaintsOf(server));
  },
};

/** The rows of a store that no attack was entitled to. */
function withoutSound(rows: readonly StoredPlant[], sound: readonly TestPlant[]): StoredPlant[] {
  const key = (row: StoredPlant) => [row.id, ...textFields.map((field) => row[field])].join(" ");
  const keys = new Set(sound.map((plant) => key(storedForm(plant))));
  return rows.filter((row) => !keys.has(key(row)));
}

type Usage = ReturnType<typeof usageOf>;

/** What has grown too much. */
function complain(before: Usage, after: Usage): string[] {
  if (before === undefined || after === undefined) return [];
  const grownMiB = after.memoryMiB - before.memoryMiB;
  const moreFiles = after.files - before.files;
  return [
    ...(grownMiB >= growthMaxMiB ? [`${grownMiB} MiB more than before`] : []),
    ...(moreFiles >= moreFilesMax ? [`${moreFiles} files more than before`] : []),
  ];
}
