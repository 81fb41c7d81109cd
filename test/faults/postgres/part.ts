import type { PostgresInstallation } from "../../support/postgres-installation.ts";
import type { CampaignResult } from "../campaign.ts";

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
