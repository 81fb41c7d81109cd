import { join } from "node:path";
import type { Random } from "../random.ts";
import { acknowledgedName, type Call } from "./call-log.ts";
import { crash, type OutageName, outages } from "./crash-state.ts";
import type { Disk, Tree } from "./disk.ts";
import { acknowledgedBy, isAside, type Recording } from "./recording.ts";
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
  readonly acknowledged: ReadonlySet<number>;
  /** Plants from this number on were never tried. */
  readonly triedBelow: number;
  /** For the reconstructed stores, one at a time. */
  readonly folder: string;
  readonly shouldStop: () => boolean;
}

export interface Crash extends Outage {
  /** What is wrong with the store afterwards; undefined if nothing is. */
  readonly wrong: string | undefined;
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
  options: CrashOptions,
): AsyncGenerator<Crash, void> {
  const { random, triedBelow, folder, shouldStop } = options;
  const disk = recording.disk();
  const acknowledged = new Set(options.acknowledged);
  let made = 0;
  for (const { moment, kind } of options.outages.toSorted((a, b) => a.moment - b.moment)) {
    if (shouldStop()) return;
    for (const call of calls.slice(made, moment)) advance(recording, disk, acknowledged, call);
    made = Math.max(made, moment);
    const left = crash(disk.root, outages[kind](random.next, disk.lastFile));
    const expected = { sizes: recording.sizes, acknowledged, triedBelow };
    const through = random.chance(throughStoreShare) ? "store" : "database";
    const wrong = await verifyCrash(left, join(folder, "crashed"), expected, through);
    yield { moment, kind, wrong, left, acknowledged: new Set(acknowledged) };
  }
}

function advance(recording: Recording, disk: Disk, acknowledged: Set<number>, call: Call): void {
  const path = join(recording.root, acknowledgedName);
  for (const number of acknowledgedBy(call, path)) acknowledged.add(number);
  if (!isAside(call.path)) disk.apply(call);
}

export function describeCrash({ moment, kind, wrong }: Crash, calls: readonly Call[]): string {
  const call = calls[moment - 1];
  const where = call === undefined ? "before the first call" : `after ${call.kind} ${call.path}`;
  return `${wrong}, when the power failed after call ${moment} (${where}) and left ${kind}`;
}
