/** A primary and its synchronous standby, which takes over when the primary is killed. */
import { setTimeout as delay } from "node:timers/promises";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";
import { checkIntegrity } from "../integrity.ts";
import { createRandom } from "../random.ts";
import { type PartOptions, type PostgresPart, scaled } from "./part.ts";
import { openReplicas } from "./replicas.ts";

const fullPromotions = 5;

/**
 * Without its standby, the primary confirms nothing. The total is longer than a server's retries:
 * they give up on the first attempt, find the plants on the second, and still must not report them
 * as stored.
 */
const separation = { cancels: 4, pauseMs: 1600 } as const;

/** The name of a follower: the primary waits for it, whichever server that is. */
const settings = { synchronous_standby_names: "standby" } as const;

export const failOvers: PostgresPart = {
  share: 0.35,
  canRunOn: ({ hasBaseBackup }) => hasBaseBackup,
  skipped: "promotions: no PostgreSQL here has pg_basebackup",
  async run({ seed, installation, log, scale, isOver }: PartOptions) {
    const random = createRandom(seed, "fail-overs");
    await using one = await startPostgres({ installation, settings });
    await using two = await startPostgres({ installation, settings });
    await two.follow(one);
    const database = await one.createDatabase();
    const hosts = [one, two].map(({ port }) => `127.0.0.1:${port}`).join(",");
    const url = one.url(database).replace(/127[^/]*/, hosts);
    await using replicas = await openReplicas("fail-overs", [url, url], seed);

    let [primary, standby] = [one, two];
    let promotions = 0;
    let separations = 0;
    let cancelled = 0;
    const found: string[] = [];
    try {
      while (promotions < scaled(fullPromotions, scale) && (promotions === 0 || !isOver())) {
        await replicas.load.untilStored(random.int(10, 100));
        const isSeparated = promotions % 2 === 0;
        if (isSeparated) cancelled += await separate(primary, standby);
        await primary.stop("kill");
        if (isSeparated) await standby.start();
        await standby.query("SELECT pg_promote()");
        await primary.follow(standby);
        [primary, standby] = [standby, primary];
        promotions++;
        if (isSeparated) separations++;
        await replicas.load.untilStored(1);
        await replicas.recorder.read(() => readPostgresPlants(primary, database));
        log(`${promotions} promotions`);
      }
    } catch (error) {
      found.push(`fail-overs: ${error instanceof Error ? error.message : error}`);
    }
    found.push(...(await replicas.finish(() => readPostgresPlants(primary, database))));
    const damage = await checkIntegrity(primary.url(database));
    found.push(...damage.map((line) => `fail-overs: damaged: ${line}`));
    const faults = {
      promotions,
      "of these with the standby away before": separations,
      "waits for it cancelled": cancelled,
    };
    return { tried: { ...faults, ...replicas.recorder.counts }, found };
  },
};

/**
 * The standby is down while clients continue, and an operator cancels the waits for it. Then the
 * primary has the plant, and the standby does not.
 *
 * @returns How many were cancelled.
 */
async function separate(primary: PostgresServer, standby: PostgresServer): Promise<number> {
  await standby.stop("fast");
  let cancelled = 0;
  for (let number = 0; number < separation.cancels; number++) {
    await delay(separation.pauseMs);
    cancelled += (await primary.query(cancelWaits)).length;
  }
  return cancelled;
}

const cancelWaits = `
  SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'plant-store' AND wait_event = 'SyncRep'`;
