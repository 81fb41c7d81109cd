/**
 * `npm run test:faults`: injects the faults of production while clients use the service, and checks
 * its promises. Separate from `npm test`, because it takes as long as it is given.
 */

import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { listenForStop } from "connect-gateway-kit/command/process";
import { within } from "../../packages/gateway/test/support/within.ts";
import { takeLeaks } from "../../packages/kit/test/support/token-leaks.ts";
import { type Campaign, createRun } from "./campaign.ts";
import { campaigns } from "./campaigns.ts";
import { childPids, watchStarvation } from "./history/starvation.ts";
import { soakIn } from "./soak/soak.ts";

const names = campaigns.map(({ name }) => name);
const usage = `npm run test:faults -- [--minutes N] [--only NAME]... [--seed S]
npm run test:faults -- soak [--hours H] [--folder DIR] [--seed S]

  --minutes N  how long to run, about, divided among the campaigns; default: 3
  --only NAME  ${names.join(", ")}; may be repeated; default: all
  --hours H    how long a soak runs; default: 3
  --folder DIR where its results go, in a folder of each run; default: data/soak
  --seed S     a whole number; the same seed makes the same plan; default: a random one
`;

/** A campaign limits its own time. One that takes this much longer is stuck. */
const overrun = { factor: 2, minutes: 3 };
/** How many broken promises are shown. The rest is only counted. */
const shownMax = 20;
/** After a signal, a campaign must end its processes within this time. */
const endGraceMs = 30_000;

const { signal } = listenForStop();
signal.addEventListener("abort", () => void setTimeout(() => end(1), endGraceMs).unref());

await runAll();

function parse() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: "string", default: "3" },
      seed: { type: "string", default: String(randomInt(2 ** 31)) },
      hours: { type: "string", default: "3" },
      folder: { type: "string", default: "data/soak" },
      only: { type: "string", multiple: true, default: names },
    },
  });
  const isSoak = positionals.join() === "soak";
  if (positionals.length > 0 && !isSoak) throw new TypeError("there is nothing to run but soak");
  const unknown = values.only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`there is no campaign ${unknown}`);
  const chosen = campaigns.filter(({ name }) => values.only.includes(name));
  const plan = {
    minutes: isSoak ? 60 * Number(values.hours) : Number(values.minutes),
    seed: Number(values.seed),
    chosen: isSoak ? [soakIn(values.folder)] : chosen,
  };
  if (!(plan.minutes >= 0 && Number.isInteger(plan.seed)))
    throw new TypeError("times are numbers, and a seed is a whole one");
  return plan;
}

async function runAll(): Promise<void> {
  let plan: ReturnType<typeof parse>;
  try {
    plan = parse();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exit(2);
  }
  const { minutes, seed, chosen } = plan;
  print(
    `faults: seed ${seed}, ${minutes} minutes for ${chosen.map(({ name }) => name).join(", ")}`,
  );
  watchStarvation();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const campaign of chosen) {
    counts[await runOne(campaign, { seed, minutes: minutes / chosen.length })]++;
  }
  const { passed, failed, skipped } = counts;
  print(`\nfaults: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  end(failed > 0 || signal.aborted ? 1 : 0);
}

/** Also ends the processes of a stuck campaign, which would otherwise outlive this one. */
function end(code: number): never {
  for (const pid of childPids()) process.kill(pid, "SIGKILL");
  process.exit(code);
}

async function runOne(campaign: Campaign, plan: { seed: number; minutes: number }) {
  const begin = performance.now();
  const log = (line: string) => print(`${campaign.name}: ${line}`);
  const run = createRun({ ...plan, log, signal });
  const limitMs = (plan.minutes * overrun.factor + overrun.minutes) * 60_000;
  await within("its end", campaign.run(run), limitMs).catch((error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    run.found.push(`the campaign broke: ${text}`);
  });
  const tried = Object.entries(run.tried).map(([what, times]) => `${what} ${times}`);
  const seconds = Math.round((performance.now() - begin) / 1000);
  log(`tried in ${seconds} s: ${tried.join(", ") || "nothing"}`);
  if (run.skipped.length > 0) log(`not tried: ${run.skipped.join("; ")}`);
  const found = [...run.found, ...takeLeaks()];
  log(`found: ${found.length || "nothing"}`);
  for (const line of found.slice(0, shownMax)) log(`  ${line}`);
  if (found.length > 0) return "failed";
  return tried.length === 0 ? "skipped" : "passed";
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
