/** Servers and load each have cores of their own, where the system can tell them to. */
import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

export type Side = "server" | "load";

const sides = findSides();

/** For people to read. */
export const pinning: string =
  sides === undefined
    ? "servers and load share all cores: taskset (util-linux) is missing, or there is one core"
    : `servers on core ${sides.server}, load on core ${sides.load} (taskset)`;

/** Threads of wrk: as many as the load has cores, up to what any server here needs. */
export const loadThreads: number = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)));

/** The command line that runs on the cores of one side. */
export function pin(
  side: Side,
  [command, ...args]: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  if (sides === undefined) return [command, ...args];
  return ["taskset", "--cpu-list", sides[side], command, ...args];
}

/** The lower half for the server, the upper for the load; only cores that this process may use. */
function findSides(): Record<Side, string> | undefined {
  const cores = allowedCores();
  if (cores.length < 2) return undefined;
  const half = Math.ceil(cores.length / 2);
  return { server: cores.slice(0, half).join(","), load: cores.slice(half).join(",") };
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

/** `3` or `0-7`, as taskset prints them. */
function parseRange(text: string): readonly number[] {
  const [first = Number.NaN, last = first] = text.split("-").map(Number);
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}
