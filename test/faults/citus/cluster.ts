import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { migrateStore } from "../../support/open-store.ts";
import { findPostgres, type PostgresInstallation } from "../../support/postgres-installation.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";

export type CitusCluster = Awaited<ReturnType<typeof startCluster>>;

/** Nodes connect to each other without a password, and standbys to primaries. */
const access = "local all all trust\nhost all,replication all 127.0.0.1/32 trust\n";

const settings = {
  shared_preload_libraries: "citus",
  wal_level: "logical",
  max_worker_processes: "20",
  "citus.enable_statistics_collection": "off",
};

/** Newer servers decode the WAL for shard moves by named libraries only. */
async function trustDecoders(server: PostgresServer): Promise<void> {
  const name = "output_plugin_libraries";
  const known = await server.query(`SELECT 1 FROM pg_settings WHERE name = '${name}'`);
  if (known.length === 0) return;
  await server.query(`ALTER SYSTEM SET ${name} = pgoutput, citus`);
  await server.query("SELECT pg_reload_conf()");
}

export function findCitus(): PostgresInstallation | undefined {
  return findPostgres().find(({ name }) => {
    try {
      const folder = execFileSync(join(name, "pg_config"), ["--sharedir"], { encoding: "utf8" });
      return existsSync(join(folder.trim(), "extension/citus.control"));
    } catch {
      return false;
    }
  });
}

/** A coordinator, and workers over which the table is distributed. */
export async function startCluster(installation: PostgresInstallation, workerCount: number) {
  await using stack = new AsyncDisposableStack();
  let owned: AsyncDisposableStack = stack;
  /** A server with the same settings. */
  const start = async () => {
    const options = { installation, settings, files: { "pg_hba.conf": access } };
    const server = owned.use(await startPostgres(options));
    await trustDecoders(server);
    return server;
  };
  const servers = await Promise.all(Array.from({ length: 1 + workerCount }, start));
  const [coordinator, ...workers] = servers as [PostgresServer, ...PostgresServer[]];
  // The first database of a server has the same name everywhere.
  const [database] = await Promise.all(servers.map((server) => server.createDatabase()));
  /** Runs SQL on the coordinator. */
  const query = (sql: string) => coordinator.query(sql, database);
  await Promise.all(servers.map((server) => server.query("CREATE EXTENSION citus", database)));
  await query(`SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
  for (const { port } of workers) await query(`SELECT citus_add_node('127.0.0.1', ${port})`);
  // As in docs/citus.md. Citus creates the role on every node.
  await query("CREATE ROLE plants LOGIN");
  await query("GRANT CREATE ON SCHEMA public TO plants");
  const url = coordinator.url(database ?? "", "plants");
  await migrateStore(url);
  await query("SELECT create_distributed_table('plants', 'id', shard_count => 8)");
  owned = stack.move();
  return {
    ...{ url, coordinator, workers, query, start },
    read: () => readPostgresPlants({ query }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
