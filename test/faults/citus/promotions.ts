/** A worker's standby takes over, and the cluster is told. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { PostgresServer } from "../../support/postgres-server.ts";
import type { PostgresPart } from "../postgres/part.ts";
import { disturb } from "../postgres/replicas.ts";
import { type CitusCluster, startCluster } from "./cluster.ts";

const runsOfEach = 3;

/** What becomes of the old worker. */
const fates = {
  "old workers alive": { begin: async () => {}, end: async () => {} },
  "old workers dead": { begin: (old: PostgresServer) => old.stop("kill"), end: async () => {} },
  "old workers hung": {
    begin: async (old: PostgresServer) => signal(old, "SIGSTOP"),
    end: async (old: PostgresServer) => signal(old, "SIGCONT"),
  },
} as const;

export const promotions: PostgresPart = {
  share: 0.3,
  canRunOn: ({ hasBaseBackup }) => hasBaseBackup,
  skipped: "promotions: no PostgreSQL here has pg_basebackup",
  async run({ seed, installation, log, scaled, isOver }) {
    await using cluster = await startCluster(installation, 2);
    const database = new URL(cluster.url).pathname.slice(1);
    let primary = cluster.workers[0] as PostgresServer;
    const plan = (["synchronous", "asynchronous"] as const).flatMap((how) =>
      Object.keys(fates).map((fate) => ({ how, fate: fate as keyof typeof fates })),
    );
    return await disturb("promotions", {
      ...{ seed, urls: [cluster.url, cluster.url], clientCount: 32 },
      read: () => cluster.read(),
      async inject({ load, done }) {
        for (let run = 0; run < scaled(runsOfEach) * plan.length && !isOver(); run++) {
          const { how, fate } = plan[run % plan.length] as (typeof plan)[number];
          const standby = await cluster.start();
          await standby.follow(primary);
          await primary.set("synchronous_standby_names", how === "synchronous" ? "standby" : "");
          await load.untilStored(200);
          const takeOver = async () => {
            await untilReplayed(primary, standby);
            await fates[fate].begin(primary);
            await standby.query("SELECT pg_promote()");
            await standby.set("synchronous_standby_names", "");
            await nameHost(cluster, primary.port, standby.port);
          };
          // A standby that is not synchronous lacks what was confirmed last, and a worker that
          // lives on confirms more. That must be prevented by other means.
          if (how === "synchronous") await takeOver();
          else await load.restDuring(takeOver);
          await load.untilStored(500);
          // The servers may not have noticed yet.
          await delay(2500);
          await load.untilStored(500);
          await fates[fate].end(primary);
          await primary.stop("kill");
          primary = standby;
          done(`${how} promotions, ${fate}`);
          log(`${run + 1} promotions`);
        }
        const sessions = "SELECT FROM pg_stat_activity WHERE application_name = 'plant-store'";
        if ((await primary.query(sessions, database)).length > 0) return;
        throw new Error("no server uses the new worker directly");
      },
    });
  },
};

async function untilReplayed(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [row] = await primary.query("SELECT pg_current_wal_lsn() AS lsn");
  const question = `SELECT pg_last_wal_replay_lsn() >= '${row?.["lsn"]}' AS done`;
  while ((await standby.query(question))[0]?.["done"] !== true) await delay(20);
}

/** With force, as an operator would if the old worker does not answer. */
async function nameHost(cluster: CitusCluster, oldPort: number, port: number): Promise<void> {
  await cluster.query(`
    SELECT citus_update_node(nodeid, '127.0.0.1', ${port}, force => true, lock_cooldown => 500)
    FROM pg_dist_node WHERE nodeport = ${oldPort}`);
}

/** To all processes of a server. */
function signal(server: PostgresServer, name: "SIGSTOP" | "SIGCONT"): void {
  const pid = readFileSync(`${server.data}/postmaster.pid`, "utf8").split("\n")[0] ?? "";
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  for (const one of [pid, ...children]) if (one.trim() !== "") process.kill(Number(one), name);
}
