/**
 * How long this process and those that it started have waited for a CPU, of which each was in
 * need. A deadline is the server's to keep, but not while the machine lets it do nothing.
 */
import { readdirSync, readFileSync } from "node:fs";
import { childPids } from "../child-pids.ts";

/** What each thread has waited for a CPU in its life, in ms, by process and thread. */
export type Waits = ReadonlyMap<number, ReadonlyMap<string, number>>;

const intervalMs = 250;

/**
 * Adds up what was waited, sample by sample. Of the threads of a process the one counts that
 * waited the longest, and processes one after the other: a request may have to wait for all.
 * So with many of them it is more than any request has lost, and never less.
 */
export class StarvationClock {
  readonly #read: () => Waits;
  readonly #samples: { readonly atMs: number; readonly starvedMs: number }[] = [];
  #waits: Waits;

  constructor(read: () => Waits, atMs: number) {
    this.#read = read;
    this.#waits = read();
    this.#samples.push({ atMs, starvedMs: 0 });
  }

  sample(atMs: number): void {
    const waits = this.#read();
    const starvedMs = (this.#samples.at(-1)?.starvedMs ?? 0) + waitedBetween(this.#waits, waits);
    this.#samples.push({ atMs, starvedMs });
    this.#waits = waits;
  }

  /** From the last sample before to the first one after. */
  starvedMs(fromMs: number, untilMs: number): number {
    const before = this.#samples.findLast(({ atMs }) => atMs <= fromMs) ?? this.#samples[0];
    const after = this.#samples.find(({ atMs }) => atMs >= untilMs) ?? this.#samples.at(-1);
    return (after?.starvedMs ?? 0) - (before?.starvedMs ?? 0);
  }
}

function waitedBetween(before: Waits, after: Waits): number {
  let sum = 0;
  for (const [pid, threads] of after) {
    const known = before.get(pid);
    const waited = [...threads].map(([thread, ms]) => ms - (known?.get(thread) ?? 0));
    sum += Math.max(0, ...waited);
  }
  return sum;
}

/** As Linux tells; of what has ended meanwhile, nothing. */
export function readWaits(pids: readonly number[]): Waits {
  return new Map(pids.map((pid) => [pid, readThreads(pid)]));
}

function readThreads(pid: number): ReadonlyMap<string, number> {
  const waits = new Map<string, number>();
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      // proc(5): time on the CPU, time in want of one, both in ns, and how many turns.
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8");
      waits.set(thread, Number(text.split(" ")[1] ?? 0) / 1e6);
    }
  } catch {
    // It has ended, or this Linux does not count.
  }
  return waits;
}

let clock: StarvationClock | undefined;

/** For the rest of this process. Only Linux tells; elsewhere nothing is ever starved. */
export function watchStarvation(): void {
  if (process.platform !== "linux") return;
  const own = new StarvationClock(
    () => readWaits([process.pid, ...childPids()]),
    performance.now(),
  );
  setInterval(() => own.sample(performance.now()), intervalMs).unref();
  clock = own;
}

/** Between two times of `performance.now()`; 0 where nobody watches. */
export function starvedMs(fromMs: number, untilMs: number): number {
  clock?.sample(performance.now());
  return clock?.starvedMs(fromMs, untilMs) ?? 0;
}
