/** A primary and its synchronous standby, which takes over when the primary is killed. */
import { setTimeout as delay } from "node:timers/promises";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";
import { createRandom } from "../random.ts";
import type { PostgresPart } from "./part.ts";
import { disturb } from "./replicas.ts";

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
  async run({ seed, installation, log, scaled, isOver }) {
    const random = createRandom(seed, "fail-overs");
    await using one = await startPostgres({ installation, settings });
    await using two = await startPostgres({ installation, settings });
    await two.follow(one);
    const database = await one.createDatabase();
    const hosts = [one, two].map(({ port }) => `127.0.0.1:${port}`).join(",");
    const url = one.url(database).replace(/127[^/]*/, hosts);
    let [primary, standby] = [one, two];
    return await disturb("fail-overs", {
      ...{ seed, urls: [url, url] },
      read: () => readPostgresPlants(primary, database),
      integrityUrl: () => primary.url(database),
      async inject({ load, done, check }) {
        for (let number = 0; number < scaled(fullPromotions); number++) {
          if (number > 0 && isOver()) break;
          await load.untilStored(random.int(10, 100));
          const isSeparated = number % 2 === 0;
          if (isSeparated) await separate(primary, standby, done);
          await primary.stop("kill");
          if (isSeparated) await standby.start();
          await standby.query("SELECT pg_promote()");
          await primary.follow(standby);
          [primary, standby] = [standby, primary];
          done("promotions");
          if (isSeparated) done("of these with the standby away before");
          await load.untilStored(1);
          await check();
          log(`${number + 1} promotions`);
        }
      },
    });
  },
};

/**
 * The standby is down while clients continue, and an operator cancels the waits for it. Then the
 * primary has the plant, and the standby does not.
 */
async function separate(
  primary: PostgresServer,
  standby: PostgresServer,
  done: (name: string) => void,
): Promise<void> {
  await standby.stop("fast");
  for (let number = 0; number < separation.cancels; number++) {
    await delay(separation.pauseMs);
    for (const _ of await primary.query(cancelWaits)) done("waits for it cancelled");
  }
}

const cancelWaits = `
  SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'plant-store' AND wait_event = 'SyncRep'`;
