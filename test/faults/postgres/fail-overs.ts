/** A primary and its synchronous standby, which takes over when the primary is killed. */
import { setTimeout as delay } from "node:timers/promises";
import { startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";
import { createRandom } from "../random.ts";
import { disturb, type PostgresRun } from "./disturb.ts";

const fullPromotions = 5;

/**
 * Without its standby, the primary confirms nothing. The total is longer than a server's retries:
 * they give up on the first attempt, find the plants on the second, and still must not report them
 * as stored.
 */
const separation = { cancels: 4, pauseMs: 1600 } as const;

const cancelWaits = `
  SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'plant-store' AND wait_event = 'SyncRep'`;

/** The name of a follower: the primary waits for it, whichever server that is. */
const settings = { synchronous_standby_names: "standby" } as const;

export async function failOvers(run: PostgresRun): Promise<void> {
  const { installation } = run;
  const random = createRandom(run.seed, "fail-overs");
  await using one = await startPostgres({ installation, settings });
  await using two = await startPostgres({ installation, settings });
  await two.follow(one);
  const database = await one.createDatabase();
  const hosts = [one, two].map(({ port }) => `127.0.0.1:${port}`).join(",");
  const url = one.url(database).replace(/127[^/]*/, hosts);
  let [primary, standby] = [one, two];

  /**
   * The standby is down while clients continue, and an operator cancels the waits for it. Then the
   * primary has the plant, and the standby does not.
   */
  async function separate(): Promise<void> {
    await standby.stop("fast");
    for (let number = 0; number < separation.cancels; number++) {
      await delay(separation.pauseMs);
      run.count("waits for it cancelled", (await primary.query(cancelWaits)).length);
    }
  }

  await disturb("fail-overs", run, {
    urls: [url, url],
    store: { read: () => readPostgresPlants(primary, database) },
    async inject({ load, check }) {
      for (let number = 0; number < run.scaled(fullPromotions); number++) {
        if (number > 0 && run.isOver()) break;
        await load.untilStored(random.int(10, 100));
        const isSeparated = number % 2 === 0;
        if (isSeparated) await separate();
        await primary.stop("kill");
        if (isSeparated) await standby.start();
        await standby.query("SELECT pg_promote()");
        await primary.follow(standby);
        [primary, standby] = [standby, primary];
        run.count("promotions");
        if (isSeparated) run.count("of these with the standby away before");
        await load.untilStored(1);
        await check();
        run.log(`${number + 1} promotions`);
      }
    },
  });
}
