import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type NewPlant, plantFrom, type TextField, textFields } from "../../../src/plant.ts";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { valuesOf } from "../../../src/store/sqlite/messages.ts";
import { createWriter } from "../../../src/store/sqlite/writer.ts";
import { readRows } from "../../support/sqlite-rows.ts";
import { checkSqlite } from "../history/integrity.ts";
import type { Random } from "../random.ts";
import { acknowledgedBy, type Call } from "./call-log.ts";
import { crash, type OutageName } from "./crash-state.ts";
import { materialise, type Tree } from "./disk.ts";
import { type PlantSizes, plantOfNumber } from "./plants.ts";
import { databaseName, type Recording } from "./recording.ts";

/** One power failure. */
export interface Outage {
  /** The number of calls made before. */
  readonly moment: number;
  readonly kind: OutageName;
}

interface CrashOptions {
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
    const problem = await verify(left, join(folder, "crashed"), expected);
    const call = calls[moment - 1];
    const where = call === undefined ? "before the first call" : `after ${call.kind} ${call.path}`;
    const how = `when the power failed after call ${moment} (${where}) and left ${kind}`;
    const wrong = problem === undefined ? [] : [`${problem}, ${how}`];
    yield { kind, wrong, left, acknowledged: new Set(acknowledged) };
  }
}

type Plants = Map<bigint, Omit<NewPlant, "id">>;

interface Expected extends Pick<CrashOptions, "triedBelow"> {
  readonly sizes: PlantSizes;
  readonly acknowledged: ReadonlySet<number>;
}

/** Opens what a crash has left with the store's own code. @returns What is wrong with it. */
async function verify(left: Tree, folder: string, expected: Expected) {
  await materialise(left, folder);
  const path = join(folder, databaseName);
  try {
    const found = useDatabase(path, plantOfNumber(expected.triedBelow, expected.sizes));
    const damage = checkSqlite(path);
    return damage.length > 0 ? damage.join("; ") : compare(found, expected);
  } catch (error) {
    return `the store does not work: ${error instanceof Error ? error.message : error}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * What the thread of a store does, in a tenth of the time. Another plant can be created then.
 *
 * @returns Its plants.
 */
function useDatabase(path: string, next: NewPlant): Plants {
  using db = openDatabase(path, 100);
  const everyPlant = "SELECT * FROM plants";
  const rows = readRows<{ id: bigint } & Record<TextField, string | null>>(db, everyPlant);
  createWriter(db).write(valuesOf([next]));
  return new Map(rows.map((row) => [row.id, plantFrom(row.id, (field) => row[field])]));
}

function compare(found: Plants, { sizes, acknowledged, triedBelow }: Expected): string | undefined {
  let known = 0;
  for (let number = 0; number < triedBelow; number++) {
    const tried = plantOfNumber(number, sizes);
    const stored = found.get(tried.id);
    if (stored === undefined) {
      if (acknowledged.has(number)) return `plant ${number} is lost`;
      continue;
    }
    known++;
    if (textFields.some((field) => stored[field] !== tried[field]))
      return `plant ${number} is changed`;
  }
  return known === found.size ? undefined : `${found.size - known} plants are there by nobody`;
}
