/** A series of faults under load, which finds broken promises of the service. */
export interface Campaign {
  readonly name: string;
  /** @throws Only if the campaign itself is broken; what the service does wrong is `found`. */
  run(options: CampaignOptions): Promise<CampaignResult>;
}

export interface CampaignOptions {
  /** Determines the whole plan: which faults, in which order, with which plants. */
  readonly seed: number;
  /** The approximate duration. The campaign tries fewer faults rather than take longer. */
  readonly minutes: number;
  readonly log: (line: string) => void;
  /** Aborts if the run is to end early: no new fault is started. */
  readonly signal: AbortSignal;
}

export interface CampaignResult {
  /** How often each fault was injected, and how much load there was. */
  readonly tried: Readonly<Record<string, number>>;
  /** A line for each broken promise. The campaign may stop after the first part that has any. */
  readonly found: readonly string[];
  /** What could not be tested on this machine, and why. */
  readonly skipped?: string;
}

/** Of a campaign that cannot run on this machine. */
export function notTried(skipped: string): CampaignResult {
  return { tried: {}, found: [], skipped };
}

export interface PartOptions extends Pick<CampaignOptions, "seed" | "log" | "signal"> {
  /** The approximate duration. */
  readonly partMs: number;
  /** Whether there is no time for another fault. */
  readonly isOver: () => boolean;
}

export interface CampaignPart {
  /** The share of the time. */
  readonly share: number;
  run(options: PartOptions): Promise<CampaignResult>;
}

/** Runs parts one after another, until one finds something. */
export async function runParts(
  parts: readonly CampaignPart[],
  { minutes, ...options }: CampaignOptions,
): Promise<CampaignResult> {
  const tried: Record<string, number> = {};
  const found: string[] = [];
  const skipped: string[] = [];
  for (const part of parts) {
    if (options.signal.aborted || found.length > 0) break;
    const partMs = part.share * minutes * 60_000;
    const end = performance.now() + partMs;
    const isOver = () => options.signal.aborted || performance.now() > end;
    const result = await part.run({ ...options, partMs, isOver });
    addCounts(tried, result.tried);
    found.push(...result.found);
    if (result.skipped !== undefined) skipped.push(result.skipped);
  }
  return { tried, found, ...(skipped.length > 0 && { skipped: skipped.join("; ") }) };
}

/** The same share for each. */
export function inEqualParts<T>(
  all: readonly T[],
  run: (one: T, options: PartOptions) => Promise<CampaignResult>,
): readonly CampaignPart[] {
  return all.map((one) => ({ share: 1 / all.length, run: (options) => run(one, options) }));
}

/** Adds the counts of a part to the total. */
export function addCounts(
  whole: Record<string, number>,
  part: Readonly<Record<string, number>>,
): void {
  for (const [name, count] of Object.entries(part)) whole[name] = (whole[name] ?? 0) + count;
}

export function count(tried: Record<string, number>, ...names: readonly string[]): void {
  for (const name of names) addCounts(tried, { [name]: 1 });
}
