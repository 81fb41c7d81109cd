/** An operator's statements on a cluster, whole and in use. */
import { setTimeout as delay } from "node:timers/promises";
import { disturb, type PostgresRun } from "../postgres/disturb.ts";
import { createRandom, type Random } from "../random.ts";
import { type CitusCluster, startCluster } from "./cluster.ts";

const runsOfEach = 10;

/** Plants of nobody, so that copying the table takes as long as some hundred creates. */
const ballast = `
  INSERT INTO plants SELECT -id, repeat('ballast', 10) FROM generate_series(1, 100000) AS id`;

const rebalance = "SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')";

const triesMax = 60;

interface Site {
  /** Retries like an operator: Citus rejects a statement while it cleans up after another. */
  readonly operate: (sql: string) => Promise<unknown>;
  readonly cluster: CitusCluster;
  readonly random: Random;
  /** Lets clients store plants between two statements. */
  readonly load: () => Promise<void>;
}

const statements: Readonly<Record<string, (site: Site) => Promise<unknown>>> = {
  "tables altered": async ({ operate, cluster, random }) => {
    const [row] = await cluster.query("SELECT count(*)::int AS now FROM citus_shards");
    const count = random.pick([4, 6, 8, 12].filter((count) => count !== row?.["now"]));
    await operate(`SELECT alter_distributed_table('plants', shard_count => ${count})`);
  },
  "tables undistributed, and distributed": async ({ operate, load }) => {
    await operate("SELECT undistribute_table('plants')");
    await load();
    await operate("SELECT create_distributed_table('plants', 'id', shard_count => 8)");
  },
  "shards split": async ({ operate, random }) => {
    await operate(`
      SELECT citus_split_shard_by_split_points(shardid,
        ARRAY[((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text],
        (SELECT array_agg(nodeid ORDER BY random()) FROM (
          SELECT nodeid FROM pg_dist_node WHERE groupid > 0 LIMIT 2) AS nodes), '${modeOf(random)}')
      FROM (SELECT * FROM pg_dist_shard ORDER BY random() LIMIT 1) AS one`);
  },
  "shards moved": async ({ operate, random }) => {
    await operate(`
      SELECT citus_move_shard_placement(shardid, nodename, nodeport, name, port, '${modeOf(random)}')
      FROM (
        SELECT shardid, shards.nodename, shards.nodeport, node.nodename AS name, node.nodeport AS port
        FROM citus_shards AS shards JOIN pg_dist_node AS node
          ON node.groupid > 0 AND node.nodeport <> shards.nodeport
        ORDER BY random() LIMIT 1) AS one`);
  },
  "rebalances, after all shards were on one node": async ({ operate, cluster, random }) => {
    const port = random.pick(cluster.workers).port;
    await drain(operate, port);
    await operate(`SELECT citus_set_node_property('127.0.0.1', ${port}, 'shouldhaveshards', true)`);
    await operate(rebalance);
  },
  "nodes drained, removed and added": async ({ operate, cluster, random, load }) => {
    const port = random.pick(cluster.workers).port;
    await drain(operate, port);
    await operate("CALL citus_cleanup_orphaned_resources()");
    await operate(assertClean(port));
    await operate(`SELECT citus_remove_node('127.0.0.1', ${port})`);
    await load();
    await operate(`SELECT citus_add_node('127.0.0.1', ${port})`);
    await operate(rebalance);
  },
};

async function drain(operate: Site["operate"], port: number): Promise<void> {
  await operate(`SELECT citus_drain_node('127.0.0.1', ${port}, 'block_writes')`);
}

/**
 * Fails until Citus has dropped what moves left on a node. A shard of which a removed node had a
 * rest can be moved no more.
 */
function assertClean(port: number): string {
  return `
    SELECT 1 / (count(*) = 0)::int FROM pg_dist_cleanup JOIN pg_dist_node ON groupid = node_group_id
    WHERE nodeport = ${port}`;
}

/** Logical replication takes seconds, so it is rarer. */
function modeOf(random: Random): string {
  return random.chance(0.2) ? "force_logical" : "block_writes";
}

export async function operatorStatements(run: PostgresRun): Promise<void> {
  const random = createRandom(run.seed, "statements");
  await using cluster = await startCluster(run.installation, 3);
  await cluster.query(ballast);
  const operate = async (sql: string) => {
    for (let tries = 1; ; tries++) {
      try {
        return await cluster.query(sql);
      } catch (error) {
        if (tries === triesMax) throw error;
        await delay(500);
      }
    }
  };
  const plan = Object.keys(statements).flatMap((name) =>
    Array<string>(run.scaled(runsOfEach)).fill(name),
  );
  const read = async () => (await cluster.read()).filter(({ id }) => id >= 0n || id < -100_000n);
  await disturb("statements", run, {
    ...{ urls: [cluster.url, cluster.url], clientCount: 32, store: { read } },
    async inject({ load }) {
      const someLoad = () => load.untilStored(random.int(50, 300));
      for (const [number, name] of random.shuffle(plan).entries()) {
        await someLoad();
        if (run.isOver()) break;
        await statements[name]?.({ operate, cluster, random, load: someLoad });
        run.count(name);
        run.log(`${number + 1} of ${plan.length} statements`);
      }
      await someLoad();
    },
  });
}
