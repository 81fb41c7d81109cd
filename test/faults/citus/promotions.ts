/** A worker's standby takes over, and the cluster is told. */
import { setTimeout as delay } from "node:timers/promises";
import type { PostgresServer } from "../../support/postgres-server.ts";
import { disturb, type PostgresRun } from "../postgres/disturb.ts";
import { patienceMs } from "../server.ts";
import { startCluster } from "./cluster.ts";

const runsOfEach = 3;

/** What becomes of the old worker: before the promotion, and long after it. */
const fates: Readonly<Record<string, readonly ((old: PostgresServer) => unknown)[]>> = {
  "old workers alive": [],
  "old workers dead": [(old) => old.stop("kill")],
  "old workers hung": [(old) => old.signal("SIGSTOP"), (old) => old.signal("SIGCONT")],
};

export async function promotions(run: PostgresRun): Promise<void> {
  await using cluster = await startCluster(run.installation, 2);
  let primary = cluster.workers[0] as PostgresServer;
  const plan = ["synchronous", "asynchronous"].flatMap((how) =>
    Object.entries(fates).map(([fate, [begin, end]]) => ({ how, fate, begin, end })),
  );
  await disturb("promotions", run, {
    ...{ urls: [cluster.url, cluster.url], clientCount: 32 },
    store: { read: cluster.read },
    async inject({ load }) {
      const all = Array(run.scaled(runsOfEach)).fill(plan).flat() as typeof plan;
      for (const [index, { how, fate, begin, end }] of all.entries()) {
        if (run.isOver()) break;
        const standby = await cluster.start();
        await standby.follow(primary);
        await primary.set("synchronous_standby_names", how === "synchronous" ? "standby" : "");
        await load.untilStored(200);
        const takeOver = async () => {
          await untilReplayed(primary, standby);
          await begin?.(primary);
          await standby.query("SELECT pg_promote()");
          await standby.set("synchronous_standby_names", "");
          // With force, as an operator would if the old worker does not answer.
          await cluster.query(`
            SELECT citus_update_node(nodeid, '127.0.0.1', ${standby.port}, force => true,
              lock_cooldown => 500)
            FROM pg_dist_node WHERE nodeport = ${primary.port}`);
        };
        // A standby that is not synchronous lacks what was confirmed last, and a worker that
        // lives on confirms more. That must be prevented by other means.
        if (how === "synchronous") await takeOver();
        else await load.restDuring(takeOver);
        await load.untilStored(500);
        // The servers may not have noticed yet.
        await delay(2500);
        await load.untilStored(500);
        await end?.(primary);
        await primary.stop("kill");
        primary = standby;
        run.count(`${how} promotions, ${fate}`);
        run.log(`${index + 1} promotions`);
      }
      const sessions = "SELECT FROM pg_stat_activity WHERE application_name = 'plant-store'";
      const database = new URL(cluster.url).pathname.slice(1);
      // None does until Citus has synced the new worker, which it may try only once a minute.
      const endMs = performance.now() + patienceMs;
      while ((await primary.query(sessions, database)).length === 0) {
        if (performance.now() > endMs) throw new Error("no server uses the new worker directly");
        await delay(100);
      }
    },
  });
}

async function untilReplayed(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [row] = await primary.query("SELECT pg_current_wal_lsn() AS lsn");
  const question = `SELECT pg_last_wal_replay_lsn() >= '${row?.["lsn"]}' AS done`;
  while ((await standby.query(question))[0]?.["done"] !== true) await delay(20);
}
