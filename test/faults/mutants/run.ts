/**
 * `npm run test:mutants`: breaks the code in one place at a time, in a copy, and checks that the
 * right test fails.
 *
 *     npm run test:mutants -- [--verbose] [PART OF A NAME]...
 *     npm run test:mutants -- --broad FOLDER[/FILES]
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { listenForStop } from "connect-gateway-kit/command/process";
import { mutateFolder } from "./broad.ts";
import { type Mutant, mutants } from "./mutants.ts";

type Verdict = "caught" | "survived" | "did not run" | "does not match";

const root = resolve(import.meta.dirname, "../../..");
const copied = [
  "src",
  "test",
  "bench",
  "gen",
  "packages",
  "proto",
  "scripts",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
];

/** Our own packages, by folder. */
const own = new Map([
  ["connect-gateway", "packages/gateway"],
  ["connect-gateway-kit", "packages/kit"],
  ["connect-gateway-proxy", "packages/proxy"],
]);

/** The duration of a campaign: enough to catch each mutant, even on a slow machine. */
const minutes = 1;
/** One mutant shows at its 40th fault, with seed 1. So many take a minute on a quiet machine. */
const minutesOfIo = 3;
const limitMs = 10 * 60_000;

const { values: flags, positionals: wanted } = parseArgs({
  options: { verbose: { type: "boolean", default: false }, broad: { type: "string" } },
  allowPositionals: true,
});
const chosen = mutants.filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
);

const stop = listenForStop();

if (flags.broad === undefined) await main();
else process.exitCode = await mutateFolder(flags.broad);

async function main(): Promise<void> {
  const verdicts: Verdict[] = [];
  // A check that fails by itself would catch every mutant.
  for (const campaign of new Set(chosen.map((mutant) => mutant.campaign))) {
    const outcome = await inCopy((folder) => check(campaign, folder));
    print(`${campaign}, unbroken: ${outcome}`);
    if (outcome !== "passed") process.exitCode = 1;
  }
  for (const mutant of chosen) {
    const verdict = await tryMutant(mutant);
    verdicts.push(verdict);
    print(`${verdict.padEnd(14)}  ${mutant.campaign.padEnd(33)}  ${mutant.name}`);
  }
  const caught = verdicts.filter((verdict) => verdict === "caught").length;
  print(`\nmutants: ${caught} caught, ${verdicts.length - caught} not`);
  if (caught < verdicts.length || caught === 0) process.exitCode = 1;
}

async function tryMutant({ file, find, replace, campaign }: Mutant): Promise<Verdict> {
  return await inCopy(async (folder) => {
    const path = join(folder, file);
    const parts = (await readFile(path, "utf8")).split(find);
    if (parts.length !== 2) return "does not match";
    await writeFile(path, parts.join(replace));
    const outcome = await check(campaign, folder);
    return ({ passed: "survived", failed: "caught", broke: "did not run" } as const)[outcome];
  });
}

async function inCopy<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "plant-store-mutant-"));
  try {
    for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true });
    await linkModules(folder);
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Links everything installed, except our own packages: those are the ones of the copy. */
async function linkModules(folder: string): Promise<void> {
  const modules = join(folder, "node_modules");
  await mkdir(modules);
  for (const name of await readdir(join(root, "node_modules"))) {
    const source = own.get(name);
    const target = source === undefined ? join(root, "node_modules", name) : join(folder, source);
    await symlink(target, join(modules, name));
  }
}

/** Any check catches code that does not even run: that is `broke`. */
async function check(campaign: string, folder: string): Promise<"passed" | "failed" | "broke"> {
  if (campaign.endsWith(".test.ts")) {
    const vitest = join(folder, "node_modules/vitest/vitest.mjs");
    // Many a mutant makes tests wait for ever.
    const { output, code, isLate } = await run(
      [vitest, "run", campaign, "--testTimeout=20000"],
      folder,
    );
    if (isLate) return "failed"; // they hang, and without the mutant they do not
    // Code that does not load runs no test.
    const counts = /^(\d+) passed, (\d+) failed/m.exec(output)?.slice(1) ?? [];
    if (counts.every((count) => count === "0")) return "broke";
    // An uncaught error fails the run, but none of its tests.
    return code === 0 ? "passed" : "failed";
  }
  const time = `${campaign === "io" ? minutesOfIo : minutes}`;
  const args = ["test/faults/run.ts", "--only", campaign, "--minutes", time, "--seed", "1"];
  const { output } = await run(args, folder);
  const [, passed, failed] = /^faults: (\d+) passed, (\d+) failed/m.exec(output) ?? [];
  if (output.includes("the campaign broke")) return "broke";
  if (passed === "1") return "passed";
  return failed === "1" ? "failed" : "broke";
}

/** @returns Its output, and how it ended. */
async function run(args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: limitMs,
  });
  const end = () => child.kill("SIGTERM");
  stop.signal.addEventListener("abort", end);
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
  stop.signal.removeEventListener("abort", end);
  stop.signal.throwIfAborted();
  if (flags.verbose) print(output);
  return { output, code, isLate: child.killed };
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
