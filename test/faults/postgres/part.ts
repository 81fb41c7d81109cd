import type { PostgresInstallation } from "../../support/postgres-installation.ts";
import type { CampaignOptions, CampaignResult } from "../campaign.ts";
import { addCounts } from "../history/recorder.ts";

export interface PostgresPart {
  /** The share of the campaign's time. */
  readonly share: number;
  canRunOn(installation: PostgresInstallation): boolean;
  /** What is not tested if it cannot run, and why. */
  readonly skipped: string;
  run(options: PartOptions): Promise<CampaignResult>;
}

export interface PartOptions {
  readonly seed: number;
  readonly installation: PostgresInstallation;
  readonly log: (line: string) => void;
  /** The share of the full numbers of faults. */
  readonly scale: number;
  /** Whether there is no time for another fault. */
  readonly isOver: () => boolean;
}

/** The number for this run; at least one. */
export function scaled(full: number, scale: number): number {
  return Math.max(1, Math.round(full * scale));
}

/** Divides the time of a campaign among its parts. Stops after the first that finds something. */
export async function runParts(
  parts: readonly PostgresPart[],
  {
    installations,
    fullMinutes,
    seed,
    minutes,
    log,
    signal,
  }: CampaignOptions & {
    readonly installations: readonly PostgresInstallation[];
    /** The duration for the full numbers of faults. */
    readonly fullMinutes: number;
  },
): Promise<CampaignResult> {
  const tried: Record<string, number> = {};
  const found: string[] = [];
  const skipped: string[] = [];
  const begin = performance.now();
  let share = 0;
  for (const part of parts) {
    share += part.share;
    const end = begin + share * minutes * 60_000;
    const installation = installations.find(part.canRunOn);
    if (installation === undefined) {
      skipped.push(part.skipped);
      continue;
    }
    const result = await part.run({
      ...{ seed, installation, log },
      scale: Math.min(1, minutes / fullMinutes),
      isOver: () => signal.aborted || performance.now() > end,
    });
    addCounts(tried, result.tried);
    found.push(...result.found);
    if (found.length > 0) break;
  }
  return { tried, found, ...(skipped.length > 0 && { skipped: skipped.join("; ") }) };
}
