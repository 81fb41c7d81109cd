/**
 * More work than the service can do, more connections, too few resources, and a shutdown under
 * load.
 */
import { type Campaign, inEqualParts, runParts } from "../campaign.ts";
import { crowd } from "./crowd.ts";
import { drain } from "./drain.ts";
import { flood } from "./flood.ts";
import { memory } from "./memory.ts";
import { starve } from "./starve.ts";

export type { PartOptions } from "../campaign.ts";

const parts = [flood, starve, memory, crowd, drain];

export const overload: Campaign = {
  name: "overload",
  run: (options) =>
    runParts(
      inEqualParts(parts, (part, given) => part(given)),
      options,
    ),
};
