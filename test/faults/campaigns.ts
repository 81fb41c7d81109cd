import type { Campaign } from "./campaign.ts";
import { citus } from "./citus/citus.ts";
import { hostile } from "./hostile/hostile.ts";
import { io } from "./io/io.ts";
import { kill } from "./kill.ts";
import { overload } from "./overload/overload.ts";
import { postgres } from "./postgres/postgres.ts";
import { power } from "./power/power.ts";
import { race } from "./race.ts";
import { space } from "./space.ts";
import { upstream } from "./upstream/upstream.ts";

/** In the order of a run, which divides its time among them. */
export const campaigns: readonly Campaign[] = [
  citus,
  hostile,
  io,
  kill,
  overload,
  postgres,
  power,
  race,
  space,
  upstream,
];
