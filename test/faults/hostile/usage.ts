import { readdirSync, readFileSync } from "node:fs";

/** The resources of a process, as counted by the kernel. */
export interface Usage {
  readonly memoryMiB: number;
  /** Open files, including connections. */
  readonly files: number;
}

/** Undefined if it cannot be read. */
export function usageOf(pid: number | undefined): Usage | undefined {
  if (pid === undefined || process.platform !== "linux") return undefined;
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  if (kib === undefined) return undefined;
  const files = readdirSync(`/proc/${pid}/fd`).length;
  return { memoryMiB: Math.round(Number(kib) / 1024), files };
}
