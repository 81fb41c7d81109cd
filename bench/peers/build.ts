import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const pathTo = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const rustFolder = pathTo("../results/peers/rust");

/** The locations of built peers. */
export const peerPrograms = {
  go: pathTo("../results/peers/go/peer"),
  rust: `${rustFolder}/release/plant-store-peer`,
} as const;

export type PeerName = keyof typeof peerPrograms;

interface Recipe {
  /** Commands that succeed if the toolchain is installed. */
  readonly toolchain: readonly Command[];
  /** Downloads the dependencies. */
  readonly fetch: Command;
  readonly steps: readonly Command[];
}

type Command = readonly [string, ...string[]];

const buf = pathTo("../../node_modules/.bin/buf");

const recipes: Readonly<Record<PeerName, Recipe>> = {
  go: {
    // SQLite is C.
    toolchain: [
      ["go", "version"],
      ["gcc", "--version"],
    ],
    fetch: ["go", "mod", "download"],
    steps: [
      [buf, "generate", pathTo("../../gen/plantstore.binpb"), "--path", "plantstore"],
      ["go", "build", "-o", peerPrograms.go, "."],
    ],
  },
  rust: {
    toolchain: [
      ["cargo", "--version"],
      ["gcc", "--version"],
    ],
    fetch: ["cargo", "fetch"],
    steps: [["cargo", "build", "--release", "--target-dir", rustFolder]],
  },
};

/** On the first run, a toolchain compiles SQLite and everything else. */
const timeoutMs = 15 * 60_000;

const builds = new Map<PeerName, Promise<string | undefined>>();

/**
 * Builds a peer, once per run.
 *
 * @returns what is missing on this machine, a toolchain or a registry; undefined if it was built.
 * @throws if it does not compile.
 */
export function buildPeer(name: PeerName): Promise<string | undefined> {
  const build = builds.get(name) ?? buildNow(name);
  builds.set(name, build);
  return build;
}

async function buildNow(name: PeerName): Promise<string | undefined> {
  const { toolchain, fetch, steps } = recipes[name];
  const cwd = pathTo(`${name}/`);
  for (const command of toolchain) {
    if (!(await run(command, cwd)).isDone) return `${command[0]} is not installed`;
  }
  const fetched = await run(fetch, cwd);
  if (!fetched.isDone) {
    return `its dependencies cannot be downloaded (${lastLine(fetched.output)})`;
  }
  for (const step of steps) {
    const { isDone, output } = await run(step, cwd);
    if (!isDone) throw new Error(`${step.join(" ")} failed in ${cwd}: ${output}`);
  }
  return undefined;
}

async function run([command, ...args]: Command, cwd: string) {
  try {
    await promisify(execFile)(command, args, { cwd, timeout: timeoutMs });
    return { isDone: true, output: "" };
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    return { isDone: false, output: stderr || message };
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
