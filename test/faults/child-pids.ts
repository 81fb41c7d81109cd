import { readFileSync } from "node:fs";

/** The child processes of the main thread; empty on systems other than Linux. */
export function childPids(): number[] {
  if (process.platform !== "linux") return [];
  const list = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
  return list.split(" ").filter(Boolean).map(Number);
}
