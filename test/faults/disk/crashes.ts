import { join } from "node:path";
import type { Random } from "../random.ts";
import { acknowledgedBy, type Call } from "./call-log.ts";
import { crash, type OutageName } from "./crash-state.ts";
import type { Tree } from "./disk.ts";
import type { Recording } from "./recording.ts";
import { verifyCrash } from "./verify.ts";

/** One power failure. */
export interface Outage {
  /** The number of calls made before. */
  readonly moment: number;
  readonly kind: OutageName;
}

export interface CrashOptions {
  readonly random: Random;
  readonly outages: readonly Outage[];
  /** Acknowledged before the recording began. */
  readonly acknowledged?: ReadonlySet<number> | undefined;
  /** Plants from this number on were never tried. */
  readonly triedBelow: number;
  /** For the reconstructed stores, one at a time. */
  readonly folder: string;
}

export interface Crash {
  readonly kind: OutageName;
  /** What is wrong with the store afterwards; empty if nothing is. */
  readonly wrong: readonly string[];
  /** What was on the disk afterwards, before the store was opened. */
  readonly left: Tree;
  /** Plants that had to be there. */
  readonly acknowledged: ReadonlySet<number>;
}

/** The share verified through the whole store. The others are verified faster. */
const throughStoreShare = 0.05;

/** Simulates power failures at moments of a recording, and verifies what each one leaves. */
export async function* tryCrashes(
  recording: Recording,
  calls: readonly Call[],
  { random, outages, triedBelow, folder, ...options }: CrashOptions,
): AsyncGenerator<Crash, void> {
  const disk = recording.disk();
  const acknowledged = new Set(options.acknowledged);
  let made = 0;
  for (const { moment, kind } of outages.toSorted((a, b) => a.moment - b.moment)) {
    for (const call of calls.slice(made, moment)) {
      for (const number of acknowledgedBy(call)) acknowledged.add(number);
      disk.apply(call);
    }
    made = Math.max(made, moment);
    const left = crash(disk, kind, random.next);
    const expected = { sizes: recording.sizes, acknowledged, triedBelow };
    const through = random.chance(throughStoreShare) ? "store" : "database";
    const problem = await verifyCrash(left, join(folder, "crashed"), expected, through);
    const call = calls[moment - 1];
    const where = call === undefined ? "before the first call" : `after ${call.kind} ${call.path}`;
    const how = `when the power failed after call ${moment} (${where}) and left ${kind}`;
    const wrong = problem === undefined ? [] : [`${problem}, ${how}`];
    yield { kind, wrong, left, acknowledged: new Set(acknowledged) };
  }
}
