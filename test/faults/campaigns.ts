import { findPostgres } from "../support/postgres-installation.ts";
import { beside } from "./beside.ts";
import { type Campaign, runParts } from "./campaign.ts";
import { findCitus } from "./citus/cluster.ts";
import { promotions } from "./citus/promotions.ts";
import { operatorStatements } from "./citus/statements.ts";
import { hostile } from "./hostile/hostile.ts";
import { io } from "./io/io.ts";
import { kill } from "./kill.ts";
import { outage } from "./outage/outage.ts";
import { crowd } from "./overload/crowd.ts";
import { drain } from "./overload/drain.ts";
import { flood } from "./overload/flood.ts";
import { messages } from "./overload/messages.ts";
import { starve } from "./overload/starve.ts";
import { crashes } from "./postgres/crashes.ts";
import { runOn } from "./postgres/disturb.ts";
import { failOvers } from "./postgres/fail-overs.ts";
import { power } from "./power/power.ts";
import { race } from "./race.ts";
import { upstream } from "./upstream/upstream.ts";

/** In the order of a run, which divides its time among them. */
export const campaigns: readonly Campaign[] = [
  beside,
  {
    name: "citus",
    run: (run) => runOn([findCitus() ?? []].flat(), run, [20, operatorStatements, promotions]),
  },
  hostile,
  io,
  kill,
  outage,
  { name: "overload", run: (run) => runParts(run, [flood, starve, messages, crowd, drain]) },
  { name: "postgres", run: (run) => runOn(findPostgres(), run, [10, crashes, failOvers]) },
  power,
  race,
  upstream,
];
