/**
 * How long this process and its children were runnable but had to wait for a CPU. The server must
 * meet deadlines, but not while the machine does not let it run.
 */
import { readdirSync, readFileSync } from "node:fs";

/** How long each thread has waited for a CPU in its life, in ms, by process and thread. */
export type Waits = ReadonlyMap<number, ReadonlyMap<string, number>>;

const intervalMs = 250;

/**
 * Sums the waiting, sample by sample. In a process, the thread that waited longest counts.
 * Processes add up, because a request may have to wait for all of them. So with many processes, it
 * is more than any request has lost, and never less.
 */
export function createStarvationClock(read: () => Waits, startMs: number) {
  const samples = [{ atMs: startMs, starvedMs: 0 }];
  let waits = read();
  return {
    sample(atMs: number): void {
      const before = waits;
      waits = read();
      const starvedMs = (samples.at(-1)?.starvedMs ?? 0) + waitedBetween(before, waits);
      samples.push({ atMs, starvedMs });
    },
    /** From the last sample before to the first one after. */
    starvedMs(fromMs: number, untilMs: number): number {
      const before = samples.findLast(({ atMs }) => atMs <= fromMs) ?? samples[0];
      const after = samples.find(({ atMs }) => atMs >= untilMs) ?? samples.at(-1);
      return (after?.starvedMs ?? 0) - (before?.starvedMs ?? 0);
    },
  };
}

function waitedBetween(before: Waits, after: Waits): number {
  const longest = [...after].map(([pid, threads]) => {
    const known = before.get(pid);
    return Math.max(0, ...[...threads].map(([thread, ms]) => ms - (known?.get(thread) ?? 0)));
  });
  return longest.reduce((sum, ms) => sum + ms, 0);
}

/** As reported by Linux. Ended threads are skipped. */
export function readWaits(pids: readonly number[]): Waits {
  return new Map(
    pids.map((pid) => {
      const threads = new Map<string, number>();
      try {
        for (const thread of readdirSync(`/proc/${pid}/task`)) {
          // proc(5): time on the CPU and time waiting for one, both in ns, and the number of time
          // slices.
          const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8");
          threads.set(thread, Number(text.split(" ")[1] ?? 0) / 1e6);
        }
      } catch {
        // It has ended, or this Linux does not count.
      }
      return [pid, threads];
    }),
  );
}

/** The child processes of the main thread; empty on systems other than Linux. */
export function childPids(): number[] {
  if (process.platform !== "linux") return [];
  const list = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
  return list.split(" ").filter(Boolean).map(Number);
}

let clock: ReturnType<typeof createStarvationClock> | undefined;

/** For the rest of this process. Works only on Linux; elsewhere, the result is always 0. */
export function watchStarvation(): void {
  if (process.platform !== "linux") return;
  const read = () => readWaits([process.pid, ...childPids()]);
  clock = createStarvationClock(read, performance.now());
  setInterval(() => clock?.sample(performance.now()), intervalMs).unref();
}

/** Between two times of `performance.now()`; 0 if nothing is watched. */
export function starvedMs(fromMs: number, untilMs: number): number {
  clock?.sample(performance.now());
  return clock?.starvedMs(fromMs, untilMs) ?? 0;
}
