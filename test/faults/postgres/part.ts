import type { PostgresInstallation } from "../../support/postgres-installation.ts";
import {
  type CampaignOptions,
  type CampaignResult,
  notTried,
  type PartOptions,
  runParts,
} from "../campaign.ts";

export interface PostgresPart {
  /** The share of the campaign's time. */
  readonly share: number;
  canRunOn(installation: PostgresInstallation): boolean;
  /** What is not tested if it cannot run, and why. */
  readonly skipped: string;
  run(options: PostgresPartOptions): Promise<CampaignResult>;
}

export interface PostgresPartOptions extends PartOptions {
  readonly installation: PostgresInstallation;
  /** The number of a fault for this run, of its full number; at least one. */
  readonly scaled: (full: number) => number;
}

/** @param fullMinutes The duration for the full numbers of faults. A shorter run has fewer. */
export async function runOn(
  installations: readonly PostgresInstallation[],
  parts: readonly PostgresPart[],
  { fullMinutes, ...options }: CampaignOptions & { readonly fullMinutes: number },
): Promise<CampaignResult> {
  const scale = Math.min(1, options.minutes / fullMinutes);
  const scaled = (full: number) => Math.max(1, Math.round(full * scale));
  return await runParts(
    parts.map(({ share, canRunOn, skipped, run }) => ({
      share,
      run: async (given) => {
        const installation = installations.find(canRunOn);
        if (installation === undefined) return notTried(skipped);
        return await run({ ...given, installation, scaled });
      },
    })),
    options,
  );
}
