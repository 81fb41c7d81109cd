/** Two replicas on a Citus cluster, while operators change it. */
import { type Campaign, notTried } from "../campaign.ts";
import { runOn } from "../postgres/part.ts";
import { findCitus } from "./cluster.ts";
import { promotions } from "./promotions.ts";
import { operatorStatements } from "./statements.ts";

export const citus: Campaign = {
  name: "citus",
  async run(options) {
    const installation = findCitus();
    if (installation === undefined) return notTried("there is no PostgreSQL with Citus here");
    const parts = [operatorStatements, promotions];
    return await runOn([installation], parts, { ...options, fullMinutes: 20 });
  },
};
