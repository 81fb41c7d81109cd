/**
 * The first minute of a new user, on the pairs of Node and npm that people have: the README's first
 * command in a fresh clone, and the package in a project with a lock and with nothing but Node and npm.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { promisify } from "node:util";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { collectOutput } from "../support/output.ts";
import { type Machine, openMachine, type Versions } from "./machine.ts";

const pairs: readonly Versions[] = [
  { node: "20.20.2", npm: "10.8.2" },
  { node: "22.23.2", npm: "10.9.4" },
  { node: "24.21.0", npm: "11.6.2" },
  { node: "26.10.0", npm: "12.2.0" },
];

const run = promisify(execFile);

async function tryPair(versions: Versions, folder: string): Promise<string> {
  const machine = await openMachine(join(folder, "machine"), versions);
  const clone = join(folder, "clone");
  await run("git", ["clone", "--quiet", process.cwd(), clone]);
  const begin = performance.now();
  const lines = await runNpm(machine, clone, ["ci"], machine.usual);
  if (lines.length > 5) throw new Error(`npm ci prints ${lines.length} lines: ${lines.join("\n")}`);
  await useStore(machine, clone);
  await runNpm(machine, clone, ["test", "--", "test/settings-table.test.ts"], machine.usual);
  const seconds = Math.round((performance.now() - begin) / 1000);
  const isOld = versions.node.startsWith("20.");
  await usePackage(machine, { clone, project: join(folder, "project"), isOld });
  return `${seconds} s from npm ci to the end of npm start, ${lines.length} lines of npm ci`;
}

/** @returns The lines that npm prints, on both streams. */
async function runNpm(
  { npm: [node, cli] }: Machine,
  cwd: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  const { stdout, stderr } = await run(node, [cli, ...args], { cwd, env, maxBuffer: 2 ** 24 });
  return `${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== "");
}

/** `npm start` until both pasted calls are answered, then SIGTERM to npm. */
async function useStore({ npm: [node, cli], usual }: Machine, clone: string): Promise<void> {
  const child = spawn(node, [cli, "start"], {
    cwd: clone,
    env: { ...usual, PLANT_STORE_PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const stdout = collectOutput(child.stdout);
  const stderr = collectOutput(child.stderr);
  try {
    const [, token = "", curl = ""] = await stdout.until(
      /^ +(export .*)\n(?:.|\n)*?^ +(curl (?:.|\n)*?)\n\n/m,
    );
    const lines = [token, ...Array(2).fill(`${curl} --silent --write-out ' %{http_code}\n'`)];
    const answer = await run("sh", ["-c", lines.join("\n")], { cwd: clone, env: usual });
    const created = '{"name":"Basil","tag":"herb"} 200\n';
    if (answer.stdout !== created.repeat(2)) {
      throw new Error(`the curl line was answered ${answer.stdout}${answer.stderr}`);
    }
  } catch (cause) {
    throw new Error(`npm start failed: ${stdout.text}${stderr.text}`, { cause });
  } finally {
    child.kill("SIGTERM");
    await within("the end of npm", ended);
  }
  await within("the end of the server", untilNobodyIsIn(clone));
}

/** A process whose working directory is the clone is left over. */
async function untilNobodyIsIn(folder: string): Promise<void> {
  const isThere = (pid: string) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      return false; // ended meanwhile
    }
  };
  while (readdirSync("/proc").some((name) => /^\d+$/.test(name) && isThere(name))) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

interface PackageTrial {
  readonly clone: string;
  readonly project: string;
  /** Whether the package says that it needs a later Node. */
  readonly isOld: boolean;
}

/** Installs the packages by `npm install`, then by `npm ci` from the lock that this has written. */
async function usePackage(machine: Machine, { clone, project, isOld }: PackageTrial) {
  await mkdir(project);
  await runNpm(machine, clone, ["run", "pack", "--", project], machine.usual);
  const tarballs = (await readdir(project)).map((file) => `./${file}`);
  await writeFile(join(project, "package.json"), '{ "private": true }');
  for (const args of [["install", ...tarballs], ["ci"]]) {
    await rm(join(project, "node_modules"), { recursive: true, force: true });
    await runNpm(machine, project, args, machine.bare);
    for (const name of ["plant-store", "connect-gateway-proxy"]) {
      const main = join(project, "node_modules", name, "dist/src/cli/main.js");
      const version = run(machine.node, [main, "--version"], { env: machine.bare });
      const { stderr } = await version.catch((error: { stderr: string }) => error);
      const isRight = isOld ? stderr.startsWith(`${name}: needs Node`) : stderr === "";
      if (!isRight) throw new Error(`behind npm ${args[0]}, ${name} --version says: ${stderr}`);
    }
  }
}

if (process.platform !== "linux" || process.arch !== "x64") {
  process.stdout.write("first-minute: 0 passed, 0 failed, 4 skipped\n");
} else {
  let failed = 0;
  for (const versions of pairs) {
    const name = `Node ${versions.node} with npm ${versions.npm}`;
    await using folder = await createTemporaryFolder();
    try {
      process.stdout.write(`${name}: ${await tryPair(versions, folder.path)}\n`);
    } catch (error) {
      failed++;
      process.stdout.write(`${name}: failed: ${describe(error)}\n`);
    }
  }
  process.stdout.write(
    `\nfirst-minute: ${pairs.length - failed} passed, ${failed} failed, 0 skipped\n`,
  );
  if (failed > 0) process.exitCode = 1;
}

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${error.cause})` : "";
  return `${error}${cause}`;
}
