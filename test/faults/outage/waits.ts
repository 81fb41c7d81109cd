/** Everything that an engine can wait for, and how to make it wait. */
import { randomUUID } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lockStore } from "../../support/locked-store.ts";
import { openPostgresClient } from "../../support/postgres-client.ts";
import { findPostgres } from "../../support/postgres-installation.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants, sqliteKind } from "../../support/store-place.ts";
import { openTcpProxy } from "../../support/tcp-proxy.ts";
import { findCitus, startCluster } from "../citus/cluster.ts";
import type { ReadableStore } from "../history/recorder.ts";

/** A store, and what makes it wait until the returned function is called. */
interface Site {
  readonly url: string;
  readonly store: ReadableStore;
  /** Of the server. */
  readonly env?: Readonly<Record<string, string>>;
  begin(): Promise<() => unknown>;
}

export interface Wait {
  readonly name: string;
  /** `all` creates wait, or those of one node, or all for a moment. */
  readonly stops: "all" | "some" | "briefly";
  /** Whether the server starts while it lasts. */
  readonly isAtStart?: boolean;
  /** Whether the server itself cannot end while it lasts, and kills itself. */
  readonly isStuck?: boolean;
  open(stack: AsyncDisposableStack, shimPath: string): Promise<Site>;
}

/** Syncs of files in a folder wait while a file exists, as on a disk that stands still. */
function openDisk(shimPath: string, folder: string) {
  const file = join(shimPath, `../stalled-${randomUUID()}`);
  return {
    env: { LD_PRELOAD: shimPath, DISK_ROOT: folder, DISK_LOG: "/dev/null", DISK_STALL: file },
    async begin() {
      writeFileSync(file, "");
      return () => rmSync(file);
    },
  };
}

async function openSqlite(stack: AsyncDisposableStack) {
  const place = stack.use(await sqliteKind.open());
  const database = place.url.replace("sqlite:", "");
  return { database, url: place.url, store: place };
}

async function openPostgres(stack: AsyncDisposableStack, env: Record<string, string> = {}) {
  const installation = findPostgres()[0];
  const server = stack.use(await startPostgres({ ...(installation && { installation }), env }));
  const database = await server.createDatabase();
  const url = server.url(database);
  return { server, url, store: { read: () => readPostgresPlants(server, database) } };
}

/** Two workers, after shards have moved. */
async function openCitus(stack: AsyncDisposableStack) {
  const cluster = stack.use(await startCluster(findCitus() as never, 2));
  await cluster.query(`
    SELECT citus_move_shard_placement(shardid, shards.nodename, shards.nodeport, node.nodename,
      node.nodeport, 'block_writes')
    FROM citus_shards AS shards JOIN pg_dist_node AS node
      ON node.groupid > 0 AND node.nodeport <> shards.nodeport LIMIT 2`);
  return { ...cluster, store: { read: cluster.read } };
}

async function lockTable(url: string) {
  const holder = await openPostgresClient(url);
  await holder.query("BEGIN; LOCK TABLE plants");
  return () => holder[Symbol.asyncDispose]();
}

async function kill(server: PostgresServer) {
  await server.stop("kill");
  return () => server.start();
}

async function hang(server: PostgresServer) {
  server.signal("SIGSTOP");
  return () => server.signal("SIGCONT");
}

type Opened = Omit<Site, "begin">;
type Row<One extends Opened> = readonly [
  what: string,
  stops: Wait["stops"],
  begin: (opened: One) => ReturnType<Site["begin"]>,
  more?: Pick<Wait, "isAtStart">,
];

/** Those of stores that are opened alike. */
function waitsOf<One extends Opened>(
  engine: string,
  open: (stack: AsyncDisposableStack) => Promise<One>,
  rows: readonly Row<One>[],
): Wait[] {
  return rows.map(([what, stops, begin, more]) => ({
    ...{ name: `${engine}, ${what}`, stops, ...more },
    async open(stack) {
      const opened = await open(stack);
      return { ...opened, begin: () => begin(opened) };
    },
  }));
}

const postgresWaits: readonly Wait[] = [
  ...waitsOf("PostgreSQL", openPostgres, [
    ["a lock on the table", "all", ({ url }) => lockTable(url)],
    ["a server that is down", "all", ({ server }) => kill(server)],
    ["a server that hangs", "all", ({ server }) => hang(server)],
    [
      "a synchronous standby",
      "all",
      async ({ server }) => {
        const set = (value: string) => server.set("synchronous_standby_names", value);
        await set("away");
        return () => set("");
      },
    ],
  ]),
  {
    ...{ name: "PostgreSQL, the disk", stops: "all" },
    async open(stack, shimPath) {
      const disk = openDisk(shimPath, "pg_wal");
      const opened = await openPostgres(stack, disk.env);
      return { ...opened, begin: disk.begin };
    },
  },
  {
    ...{ name: "PostgreSQL, the network", stops: "all" },
    async open(stack) {
      const { server, url, store } = await openPostgres(stack);
      const proxy = stack.use(await openTcpProxy(server.port, "none"));
      return {
        ...{ url: url.replace(/:\d+\//, `:${proxy.port}/`), store },
        async begin() {
          proxy.hang();
          return () => {
            proxy.refuse();
            proxy.allow();
          };
        },
      };
    },
  },
];

const firstOf = ({ workers }: Awaited<ReturnType<typeof openCitus>>) =>
  workers[0] as PostgresServer;

const citusWaits: readonly Wait[] = waitsOf("Citus", openCitus, [
  ["a worker that is down", "some", (cluster) => kill(firstOf(cluster))],
  ["a worker that hangs", "some", (cluster) => hang(firstOf(cluster))],
  ["a coordinator that is down", "briefly", ({ coordinator }) => kill(coordinator)],
  ["a coordinator that hangs", "briefly", ({ coordinator }) => hang(coordinator)],
  ["a lock on the coordinator's table", "all", ({ url }) => lockTable(url)],
  ["a start as a worker hangs", "some", (cluster) => hang(firstOf(cluster)), { isAtStart: true }],
]);

const sqliteWaits: readonly Wait[] = [
  ...waitsOf("SQLite", openSqlite, [
    ["another process's lock", "all", async ({ database }) => lockStore(database).release],
  ]),
  {
    ...{ name: "SQLite, the disk", stops: "all", isStuck: true },
    async open(stack, shimPath) {
      const opened = await openSqlite(stack);
      const disk = openDisk(shimPath, join(opened.database, ".."));
      return { ...opened, ...disk };
    },
  },
];

export const waits = { SQLite: sqliteWaits, PostgreSQL: postgresWaits, Citus: citusWaits } as const;
