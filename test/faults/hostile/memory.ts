import { readFileSync } from "node:fs";

/** The memory of a process in MiB, as the kernel counts it; undefined where it cannot be read. */
export function residentMiB(pid: number | undefined): number | undefined {
  if (pid === undefined || process.platform !== "linux") return undefined;
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return kib === undefined ? undefined : Math.round(Number(kib) / 1024);
}
