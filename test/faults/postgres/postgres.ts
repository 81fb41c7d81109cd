/**
 * Two replicas under the load of retrying clients, while their PostgreSQL is killed, loses
 * connections, and fails over.
 */
import { findPostgres } from "../../support/postgres-installation.ts";
import type { Campaign } from "../campaign.ts";
import { crashes } from "./crashes.ts";
import { runOn } from "./disturb.ts";
import { failOvers } from "./fail-overs.ts";

const parts = { fullMinutes: 10, first: crashes, share: 0.65, promotions: failOvers };

export const postgres: Campaign = {
  name: "postgres",
  run: (run) => runOn(findPostgres(), run, parts),
};
