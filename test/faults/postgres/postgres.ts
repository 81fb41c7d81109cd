/**
 * Two replicas under the load of retrying clients, while their PostgreSQL is killed, loses
 * connections, and fails over.
 */
import { findPostgres } from "../../support/postgres-installation.ts";
import type { Campaign } from "../campaign.ts";
import { crashes } from "./crashes.ts";
import { failOvers } from "./fail-overs.ts";
import { type PostgresPart, runParts } from "./part.ts";

/** The duration for the full numbers of faults. A shorter run injects proportionally fewer. */
const fullMinutes = 10;

const parts: readonly PostgresPart[] = [crashes, failOvers];

export const postgres: Campaign = {
  name: "postgres",
  async run(options) {
    const installations = findPostgres();
    if (installations.length === 0) {
      return { tried: {}, found: [], skipped: "there is no PostgreSQL here" };
    }
    return await runParts(parts, { ...options, fullMinutes, installations });
  },
};
