/** Two replicas on a Citus cluster, while operators change it. */
import type { Campaign } from "../campaign.ts";
import { runOn } from "../postgres/disturb.ts";
import { findCitus } from "./cluster.ts";
import { promotions } from "./promotions.ts";
import { operatorStatements } from "./statements.ts";

const parts = { fullMinutes: 20, first: operatorStatements, share: 0.7, promotions };

export const citus: Campaign = {
  name: "citus",
  run: (run) => runOn([findCitus() ?? []].flat(), run, parts),
};
