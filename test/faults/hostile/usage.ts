import { readdirSync, readFileSync } from "node:fs";

/** What a process holds, as the kernel counts it. */
export interface Usage {
  readonly memoryMiB: number;
  /** Open files, connections among them. */
  readonly files: number;
}

/** Undefined where it cannot be read. */
export function usageOf(pid: number | undefined): Usage | undefined {
  if (pid === undefined || process.platform !== "linux") return undefined;
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  if (kib === undefined) return undefined;
  const files = readdirSync(`/proc/${pid}/fd`).length;
  return { memoryMiB: Math.round(Number(kib) / 1024), files };
}
