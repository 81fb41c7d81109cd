/** `npm run bench`: compares plant-store with its peers, on one machine, in one run. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bench } from "./bench.ts";
import { type Flags, type PartName, parseFlags, usage } from "./flags.ts";
import { findWrk } from "./load/wrk.ts";
import { describeMachine } from "./machine.ts";
import { far } from "./parts/far.ts";
import { fullStore } from "./parts/full-store.ts";
import { latency } from "./parts/latency.ts";
import { mcp } from "./parts/mcp.ts";
import { memory } from "./parts/memory.ts";
import type { Part } from "./parts/part.ts";
import { proxy } from "./parts/proxy.ts";
import { rates } from "./parts/rates.ts";
import { start } from "./parts/start.ts";
import { stores } from "./parts/stores.ts";
import { streams } from "./parts/streams.ts";
import { quickPlan, wholePlan } from "./plan.ts";
import { IdStreams } from "./plant-ids.ts";
import { stopPostgres } from "./postgres.ts";
import { createSyncDelay } from "./sync-delay.ts";
import { formatTable } from "./table.ts";

const parts: Record<PartName, Part> = {
  rates,
  streams,
  latency,
  stores,
  memory,
  "full-store": fullStore,
  start,
  proxy,
  far,
  mcp,
};
const folder = fileURLToPath(new URL("results", import.meta.url));

// With an explicit exit, so that no server and no store is left behind.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const flags = parse(process.argv.slice(2));
if (flags !== undefined) await run(flags);

function parse(args: readonly string[]): Flags | undefined {
  try {
    return parseFlags(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exitCode = 2;
    return undefined;
  }
}

async function run({
  isQuick,
  parts: names,
  jsonFile,
  markdownFile,
  syncDelayMs,
}: Flags): Promise<void> {
  const wrk = await findWrk();
  await mkdir(folder, { recursive: true });
  const bench: Bench = {
    plan: isQuick ? quickPlan : wholePlan,
    ids: new IdStreams(),
    folder,
    hasWrk: wrk !== undefined,
    log: (line) => console.error(line),
  };
  const machine = [...describeMachine(folder, wrk)];
  if (syncDelayMs !== undefined) {
    // Inherited by child processes.
    Object.assign(process.env, createSyncDelay(syncDelayMs, folder));
    machine.push(`each sync takes ${syncDelayMs} ms longer (--sync-delay-ms)`);
  }
  for (const line of machine) console.error(line);
  if (wrk === undefined) {
    console.error("wrk is missing: install the Debian package wrk to measure HTTP/1.1 as well");
  }
  const measured: Record<string, unknown> = { at: new Date().toISOString(), isQuick, machine };
  const text: string[] = [];
  try {
    for (const name of names) {
      const result = await parts[name].run(bench);
      measured[name] = result.measured;
      // Written after each part, so that a failing part does not lose the others.
      await write(jsonFile, `${JSON.stringify(measured, null, 2)}\n`);
      text.push(formatTable(result.table));
      console.log(`\n${text.at(-1)}`);
    }
  } finally {
    await stopPostgres();
  }
  const lines = machine.map((line) => `- ${line}`);
  if (isQuick) lines.push("- a quick run: these figures mean nothing");
  if (markdownFile !== undefined) {
    await write(markdownFile, `${[...lines, "", ...text].join("\n")}`);
  }
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
