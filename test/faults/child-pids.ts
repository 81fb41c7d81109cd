import { readFileSync } from "node:fs";

/** The processes that the main thread of this one has started; none where Linux is not there to tell. */
export function childPids(): number[] {
  if (process.platform !== "linux") return [];
  const list = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
  return list.split(" ").filter(Boolean).map(Number);
}
