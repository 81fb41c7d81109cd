/**
 * Two replicas under the load of retrying clients, while their PostgreSQL is killed, loses
 * connections, and fails over.
 */
import { findPostgres } from "../../support/postgres-installation.ts";
import { type Campaign, notTried } from "../campaign.ts";
import { crashes } from "./crashes.ts";
import { failOvers } from "./fail-overs.ts";
import { runOn } from "./part.ts";

export const postgres: Campaign = {
  name: "postgres",
  async run(options) {
    const installations = findPostgres();
    if (installations.length === 0) return notTried("there is no PostgreSQL here");
    return await runOn(installations, [crashes, failOvers], { ...options, fullMinutes: 10 });
  },
};
