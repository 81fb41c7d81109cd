import { readFileSync } from "node:fs";

/** The resources a process has used so far, including all its threads. */
export interface ProcessUsage {
  /** In user and kernel mode. */
  readonly cpuUs: number;
  readonly rssBytes: number;
}

/** Undefined if the system does not report it. */
export function cpuUsPerRequest(
  before: ProcessUsage | undefined,
  after: ProcessUsage | undefined,
  requests: number,
): number | undefined {
  return before && after && (after.cpuUs - before.cpuUs) / requests;
}

// The unit of times in /proc is 1/100 s on every Linux (proc(5), USER_HZ).
const tickUs = 10_000;

/** @returns undefined if the system has no /proc. */
export function readProcessUsage(pid: number): ProcessUsage | undefined {
  if (process.platform !== "linux") return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // Counted from after the name, which may contain spaces: state is field 3 of proc(5).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [utime, stime] = [Number(fields[14 - 3]), Number(fields[15 - 3])];
  const [, rssKiB] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return { cpuUs: (utime + stime) * tickUs, rssBytes: Number(rssKiB) * 1024 };
}
