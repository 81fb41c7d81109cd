/** A worker's standby takes over, and the cluster is told. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { PostgresServer } from "../../support/postgres-server.ts";
import { type PostgresPart, scaled } from "../postgres/part.ts";
import { openReplicas } from "../postgres/replicas.ts";
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
  async run({ seed, installation, log, scale, isOver }) {
    await using cluster = await startCluster(installation, 2);
    const database = new URL(cluster.url).pathname.slice(1);
    await using replicas = await openReplicas("promotions", [cluster.url, cluster.url], seed, 32);
    const { load } = replicas;
    const done: Record<string, number> = {};
    const found: string[] = [];
    let primary = cluster.workers[0] as PostgresServer;
    const plan = (["synchronous", "asynchronous"] as const).flatMap((how) =>
      Object.keys(fates).map((fate) => ({ how, fate: fate as keyof typeof fates })),
    );
    try {
      for (let run = 0; run < scaled(runsOfEach, scale) * plan.length && !isOver(); run++) {
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
        // A standby that is not synchronous lacks what was confirmed last, and a worker that lives
        // on confirms more. That must be prevented by other means.
        if (how === "synchronous") await takeOver();
        else await load.restDuring(takeOver);
        await load.untilStored(500);
        // The servers may not have noticed yet.
        await delay(2500);
        await load.untilStored(500);
        await fates[fate].end(primary);
        await primary.stop("kill");
        primary = standby;
        const name = `${how} promotions, ${fate}`;
        done[name] = (done[name] ?? 0) + 1;
        log(`${run + 1} promotions`);
      }
    } catch (error) {
      found.push(`promotions: ${error instanceof Error ? error.message : error}`);
    }
    found.push(...(await replicas.finish(() => cluster.read())));
    const sessions = await primary.query(
      "SELECT FROM pg_stat_activity WHERE application_name = 'plant-store'",
      database,
    );
    if (sessions.length === 0) found.push("promotions: no server uses the new worker directly");
    return { tried: { ...done, ...replicas.recorder.counts }, found };
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
