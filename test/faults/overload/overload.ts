/**
 * More work than the service can do, more connections, too few resources, and a shutdown under
 * load.
 */
import { type Campaign, runParts } from "../campaign.ts";
import { crowd } from "./crowd.ts";
import { drain } from "./drain.ts";
import { flood } from "./flood.ts";
import { memory } from "./memory.ts";
import { starve } from "./starve.ts";

export const overload: Campaign = {
  name: "overload",
  run: (run) => runParts(run, [flood, starve, memory, crowd, drain]),
};
