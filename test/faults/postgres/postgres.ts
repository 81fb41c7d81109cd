/**
 * Two replicas under the load of retrying clients, while their PostgreSQL is killed, loses
 * connections, and fails over.
 */
import { findPostgres } from "../../support/postgres-installation.ts";
import type { Campaign } from "../campaign.ts";
import { addCounts } from "../history/recorder.ts";
import { crashes } from "./crashes.ts";
import { failOvers } from "./fail-overs.ts";
import type { PostgresPart } from "./part.ts";

/** The duration for the full numbers of faults. A shorter run injects proportionally fewer. */
const fullMinutes = 10;

const parts: readonly PostgresPart[] = [crashes, failOvers];

export const postgres: Campaign = {
  name: "postgres",
  async run({ seed, minutes, log, signal }) {
    const installations = findPostgres();
    if (installations.length === 0) {
      return { tried: {}, found: [], skipped: "there is no PostgreSQL here" };
    }
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
  },
};
