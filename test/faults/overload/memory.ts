/** A caller whose bodies take memory, beside others, in a small heap: alone and through a proxy. */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { type Child, spawnChild } from "../../support/child.ts";
import { type ChildServer, spawnServer } from "../../support/child-server.ts";
import type { CampaignResult } from "../campaign.ts";
import {
  type Hoard,
  hoard,
  hoards,
  residentMiBMax,
  smallServer,
} from "../hostile/floods/hoards.ts";
import { usageOf } from "../hostile/usage.ts";
import { Witness } from "../hostile/witness.ts";
import { createRandom } from "../random.ts";
import { patienceMs } from "../start-server.ts";
import type { PartOptions } from "./overload.ts";

const env = smallServer;
const command = fileURLToPath(new URL("../../../packages/proxy/src/cli/main.ts", import.meta.url));
const connectionCounts = [4, 100];
/** Of each connection. */
const streams = 250;
const watchIntervalMs = 20;
const hoardMs = 4000;

export async function memory({ seed, partMs, log, signal }: PartOptions): Promise<CampaignResult> {
  const tried: Record<string, number> = {};
  const found: string[] = [];
  await using folder = await createTemporaryFolder();
  await using server = await spawnServer({ cwd: folder.path, env, startTimeoutMs: patienceMs });
  await using proxy = await spawnProxy(server, folder.path);
  const targets = { alone: server, "behind the command": proxy };
  const cases = connectionCounts.flatMap((connections) =>
    hoards.flatMap((one) =>
      Object.entries(targets).map(([name, target]) => ({ connections, one, name, target })),
    ),
  );
  const end = performance.now() + Math.max(partMs, hoardMs);
  // Another part of them in each short run.
  for (const { connections, one, name, target } of createRandom(seed, "memory").shuffle(cases)) {
    if (signal.aborted || performance.now() > end || found.length > 0) break;
    const what = `${connections} connections, ${one.what}, ${name}`;
    const { sent, line, problems } = await besiege(one, { target, connections, seed });
    log(`memory: ${what}: ${line}`);
    found.push(...problems.map((problem) => `memory: ${what}: ${problem}`));
    tried["bodies that take memory"] = (tried["bodies that take memory"] ?? 0) + sent;
  }
  return { tried, found };
}

async function spawnProxy(upstream: ChildServer, cwd: string): Promise<ChildServer> {
  const args = ["--upstream", upstream.url, "--reflection", "--port", "0"];
  const child: Child = spawnChild(args, { cwd, env, program: command });
  const [, url = ""] = await child.stdout.until(/listening on (\S+)/, patienceMs);
  await child.stderr.until(/ serves /, patienceMs);
  return { ...child, url, port: Number(new URL(url).port) };
}

interface Siege {
  readonly target: ChildServer;
  readonly connections: number;
  readonly seed: number;
}

async function besiege(one: Hoard, { target, connections, seed }: Siege) {
  const problems: string[] = [];
  const residentMiB = () => usageOf(target.process.pid)?.memoryMiB ?? 0;
  const before = residentMiB();
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, residentMiB())), watchIntervalMs);
  await using witness = new Witness({ url: target.url, seed });
  const hoarding = { url: target.url, connections, streams, ms: hoardMs };
  const sent = await hoard(one, hoarding);
  const requests = await witness.finish();
  clearInterval(watch);
  await delay(watchIntervalMs);
  const waits = requests.map(({ startMs, endMs }) => endMs - startMs).sort((a, b) => a - b);
  const p99 = waits[Math.floor(waits.length * 0.99)] ?? Number.POSITIVE_INFINITY;
  // Errors are answers, too: the ids of an earlier witness are taken.
  const unserved = requests.flatMap(({ outcome }) =>
    outcome.kind === "unknown" ? [outcome.why] : [],
  );
  if (target.process.exitCode !== null || target.process.signalCode !== null) {
    problems.push(`the server has died: ${target.stderr.text.slice(-1000)}`);
  }
  if (peak > residentMiBMax) problems.push(`${peak} MiB resident`);
  if (unserved.length > 0) {
    const why = [...new Set(unserved)].join(", ");
    problems.push(`${unserved.length} of ${requests.length} requests of others: ${why}`);
  }
  const line = `${sent} sent, ${before} to ${peak} MiB resident, others: ${waits.length}, p99 ${p99.toFixed(0)} ms`;
  return { sent, line, problems };
}
