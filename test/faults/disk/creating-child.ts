/**
 * Creates plants in a store, as specified by the JSON in its argument, and appends the number of
 * each plant to a file once its create was acknowledged.
 */
import { closeSync, existsSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { PlantError, type PlantStore } from "../../../src/plant.ts";
import { openStore } from "../../support/open-store.ts";
import { acknowledgedName } from "./call-log.ts";
import { type PlantSizes, plantOfNumber } from "./plants.ts";

export interface CreatingOptions {
  /** The directory of the recording. */
  readonly root: string;
  readonly url: string;
  readonly sizes: PlantSizes;
  /** For each opening of the store, up to which number it creates plants, from where the last ended. */
  readonly openings: readonly number[];
  /** The number of concurrent creates. */
  readonly concurrency: number;
  /**
   * The shim's switch. After a failed create, it is turned off, and the same creates are repeated.
   */
  readonly switchPath?: string | undefined;
}

/** The result as seen by the process: the last line of its standard output. */
export interface CreatingReport {
  /** Why the store did not open. Nothing else was tried then. */
  refused?: string;
  /** Creates that failed. */
  failed: number;
  /** Creates that failed again after the switch was turned off. */
  failedAgain: number;
  /** Creates that succeeded after the store had reported that it failed for good. */
  afterFailure: number;
  /** The store's message when it failed for good. */
  failure?: string;
  /** Whether the store reported that it was ready after it had failed. */
  readyAfterFailure: boolean;
}

const options = JSON.parse(process.argv[2] ?? "") as CreatingOptions;
const { root, url, sizes, openings, concurrency, switchPath } = options;
const acknowledged = openSync(join(root, acknowledgedName), "a");
const report: CreatingReport = {
  ...{ failed: 0, failedAgain: 0, afterFailure: 0 },
  readyAfterFailure: false,
};
const onFailure = (error: Error) => {
  report.failure = "code" in error ? String(error.code) : error.message;
};

for (const [index, to] of openings.entries()) {
  const from = openings[index - 1] ?? 0;
  const store = await openStore(url, { onFailure }).catch((error: unknown) => {
    report.refused = error instanceof Error ? error.message : String(error);
  });
  if (!store) break;
  await createAll(store, from, to);
  if (report.failed > 0 && switchPath !== undefined && existsSync(switchPath)) {
    const { failed } = report;
    rmSync(switchPath);
    await createAll(store, from, to);
    report.failedAgain = report.failed - failed;
  }
  report.readyAfterFailure ||= report.failure !== undefined && store.obstacle() === undefined;
  await store.close();
  if (report.failure !== undefined) break;
}
closeSync(acknowledged);
process.stdout.write(`${JSON.stringify(report)}\n`);

async function createAll(store: PlantStore, from: number, to: number): Promise<void> {
  let next = from;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < to) await create(store, next++);
    }),
  );
}

async function create(store: PlantStore, number: number): Promise<void> {
  const hadFailed = report.failure !== undefined;
  try {
    await store.create(plantOfNumber(number, sizes));
  } catch (error) {
    if (!(error instanceof PlantError && error.code === "unavailable")) throw error;
    report.failed++;
    return;
  }
  writeSync(acknowledged, `${number}\n`);
  if (hadFailed) report.afterFailure++;
}
