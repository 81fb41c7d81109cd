/** Two replicas under load, while operators change the Citus cluster of their store. */
import type { Campaign } from "../campaign.ts";
import { runParts } from "../postgres/part.ts";
import { findCitus } from "./cluster.ts";
import { promotions } from "./promotions.ts";
import { operatorStatements } from "./statements.ts";

/** The duration for the full numbers of statements. A shorter run has proportionally fewer. */
const fullMinutes = 20;

export const citus: Campaign = {
  name: "citus",
  async run(options) {
    const installation = findCitus();
    if (installation === undefined) {
      return { tried: {}, found: [], skipped: "there is no PostgreSQL with Citus here" };
    }
    return await runParts([operatorStatements, promotions], {
      ...{ ...options, fullMinutes },
      installations: [installation],
    });
  },
};
