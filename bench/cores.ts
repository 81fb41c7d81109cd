/**
 * The load runs on half of the cores, if the system supports it. Servers use all cores, as in
 * production.
 */
import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

const loadCores = findLoadCores();

/** A description for the report. */
export const pinning: string =
  loadCores === undefined
    ? "servers and load share all cores: taskset (util-linux) is missing, or there is one core"
    : `servers on all cores, load on core ${loadCores} (taskset)`;

/** Threads of wrk: one for each core of the load, up to what any server here needs. */
export const loadThreads: number = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));

/** The command line that runs on the cores of the load. */
export function pinLoad([command, ...args]: readonly [string, ...string[]]): readonly [
  string,
  ...string[],
] {
  if (loadCores === undefined) return [command, ...args];
  return ["taskset", "--cpu-list", loadCores, command, ...args];
}

/** The upper half of this process's cores. */
function findLoadCores(): string | undefined {
  const cores = allowedCores();
  if (cores.length < 2) return undefined;
  return cores.slice(Math.ceil(cores.length / 2)).join(",");
}

function allowedCores(): readonly number[] {
  try {
    const text = execFileSync("taskset", ["--cpu-list", "--pid", `${process.pid}`], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const list = text.slice(text.lastIndexOf(":") + 1).trim();
    return list.split(",").flatMap(parseRange);
  } catch {
    return [];
  }
}

/** `3` or `0-7`, as printed by taskset. */
function parseRange(text: string): readonly number[] {
  const [first = Number.NaN, last = first] = text.split("-").map(Number);
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}
