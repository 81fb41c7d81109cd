/**
 * More work than the service can do, more connections, too few resources, and a shutdown under
 * load.
 */
import type { Campaign, CampaignOptions, CampaignResult } from "../campaign.ts";
import { addCounts } from "../history/recorder.ts";
import { crowd } from "./crowd.ts";
import { drain } from "./drain.ts";
import { flood } from "./flood.ts";
import { memory } from "./memory.ts";
import { starve } from "./starve.ts";

export interface PartOptions extends Pick<CampaignOptions, "seed" | "log" | "signal"> {
  /** The approximate duration. */
  readonly partMs: number;
}

export const overload: Campaign = {
  name: "overload",
  async run({ minutes, ...options }) {
    const tried: Record<string, number> = {};
    const found: string[] = [];
    const parts: readonly ((options: PartOptions) => Promise<CampaignResult>)[] = [
      flood,
      starve,
      memory,
      crowd,
      drain,
    ];
    for (const part of parts) {
      if (options.signal.aborted || found.length > 0) break;
      const result = await part({ ...options, partMs: (minutes * 60_000) / parts.length });
      addCounts(tried, result.tried);
      found.push(...result.found);
    }
    return { tried, found };
  },
};
