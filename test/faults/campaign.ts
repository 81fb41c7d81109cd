/** A series of faults under load, which finds broken promises of the service. */
export interface Campaign {
  readonly name: string;
  /** @throws Only if the campaign itself is broken; what the service does wrong is `found`. */
  run(run: Run): Promise<void>;
}

interface RunOptions {
  /** Determines the whole plan: which faults, in which order, with which plants. */
  readonly seed: number;
  /** The approximate duration. A campaign tries fewer faults rather than take longer. */
  readonly minutes: number;
  readonly log: (line: string) => void;
  /** Aborts if the run is to end early: no new fault is started. */
  readonly signal: AbortSignal;
}

interface Results {
  /** How often each fault was injected, and how much load there was. */
  readonly tried: Record<string, number>;
  /** A line for each broken promise. The campaign may stop after the first part that has any. */
  readonly found: string[];
  /** What could not be tested on this machine, and why. */
  readonly skipped: string[];
}

export type Run = ReturnType<typeof createRun>;

/**
 * The plan of a campaign or of one of its parts, and where it reports.
 *
 * @param results Those of the whole, for a part.
 */
export function createRun(
  { seed, minutes, log, signal }: RunOptions,
  { tried, found, skipped }: Results = { tried: {}, found: [], skipped: [] },
) {
  const end = performance.now() + minutes * 60_000;
  const find = (where: string, lines: readonly string[]) =>
    void found.push(...lines.map((line) => `${where}: ${line}`));
  return {
    ...{ seed, minutes, log, signal, tried, found, skipped, find },
    skip: (what: string) => void skipped.push(what),
    /** Whether there is no time for another fault. */
    isOver: () => signal.aborted || performance.now() >= end,
    count: (name: string, times?: number) => count(tried, name, times),
    /** Does work that throws only if a promise is broken. */
    attempt: (where: string, work: () => Promise<unknown>): Promise<void> =>
      work().then(
        () => {},
        (error: unknown) => find(where, [error instanceof Error ? error.message : String(error)]),
      ),
  };
}

/**
 * Runs parts one after another, until one finds something.
 *
 * @param shares Of the time. Default: equal ones.
 */
export async function runParts(
  run: Run,
  parts: readonly ((part: Run) => Promise<void>)[],
  shares: readonly number[] = [],
): Promise<void> {
  for (const [index, part] of parts.entries()) {
    if (run.signal.aborted || run.found.length > 0) break;
    const share = shares[index] ?? 1 / parts.length;
    await part(createRun({ ...run, minutes: share * run.minutes }, run));
  }
}

export function count(counts: Record<string, number>, name: string, times = 1): void {
  counts[name] = (counts[name] ?? 0) + times;
}
