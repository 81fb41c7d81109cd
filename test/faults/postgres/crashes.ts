/** One PostgreSQL: killed and restarted, its backends terminated, its connections cut. */

import { within } from "../../../packages/gateway/test/support/within.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";
import { type Interference, openTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { checkIntegrity } from "../integrity.ts";
import { createRandom, type Random } from "../random.ts";
import { type PartOptions, type PostgresPart, scaled } from "./part.ts";
import { openReplicas } from "./replicas.ts";

const full = { restart: 20, terminate: 200, cut: 200 } as const;
type Fault = keyof typeof full;

/** Occurs in each statement that stores plants, which is a transaction by itself. */
const mark = "INSERT INTO plants";

/** After the server has the whole statement, and before the client has the whole answer. */
const cuts: readonly Interference[] = ["cut-behind", "lose-answer", "truncate-answer"];

export const crashes: PostgresPart = {
  share: 0.65,
  canRunOn: () => true,
  skipped: "",
  async run({ seed, installation, log, scale, isOver }: PartOptions) {
    const random = createRandom(seed, "crashes");
    await using server = await startPostgres({ installation });
    const database = await server.createDatabase();
    // Each replica has its own proxy, so that a cut affects only one of them.
    await using one = await openTcpProxy(server.port, mark);
    await using two = await openTcpProxy(server.port, mark);
    const proxies = [one, two];
    const urls = proxies.map(({ port }) => server.url(database).replace(/:\d+\//, `:${port}/`));
    await using replicas = await openReplicas("crashes", urls, seed);

    const done = { restart: 0, terminate: 0, cut: 0 };
    const inflict: Record<Fault, () => Promise<boolean>> = {
      restart: () => restart(server, random),
      terminate: () => terminate(server),
      cut: () => cut(random.pick(proxies), random),
    };
    const found: string[] = [];
    try {
      for (const fault of plan(scale, random)) {
        await replicas.load.untilStored(random.int(1, 12));
        if (isOver()) break;
        if (await inflict[fault]()) done[fault]++;
        if (fault === "restart") {
          await replicas.recorder.read(() => readPostgresPlants(server, database));
          log(`${done.restart} restarts, ${done.terminate} terminated, ${done.cut} cut`);
        }
      }
      await replicas.load.untilStored(1);
    } catch (error) {
      found.push(`crashes: ${error instanceof Error ? error.message : error}`);
    }
    found.push(...(await replicas.finish(() => readPostgresPlants(server, database))));
    const damage = await checkIntegrity(server.url(database));
    found.push(...damage.map((line) => `crashes: damaged: ${line}`));
    const { restart: restarts, terminate: terminated, cut: wereCut } = done;
    const faults = { restarts, "backends terminated": terminated, "connections cut": wereCut };
    return { tried: { ...faults, ...replicas.recorder.counts }, found };
  },
};

function plan(scale: number, random: Random): readonly Fault[] {
  const names = Object.keys(full) as Fault[];
  return random.shuffle(
    names.flatMap((name) => Array<Fault>(scaled(full[name], scale)).fill(name)),
  );
}

async function restart(server: PostgresServer, random: Random): Promise<boolean> {
  await server.stop(random.pick(["kill", "immediate"] as const));
  await server.start();
  return true;
}

/** @returns False if there was none at the moment. */
async function terminate(server: PostgresServer): Promise<boolean> {
  const rows = await server.query(`
    SELECT pg_terminate_backend(pid) AS done FROM (
      SELECT pid FROM pg_stat_activity WHERE application_name = 'plant-store'
      ORDER BY random() LIMIT 1
    ) AS one`);
  return rows[0]?.["done"] === true;
}

/** The next statement of a replica. */
async function cut(proxy: TcpProxy, random: Random): Promise<boolean> {
  const how = random.pick(cuts);
  const isDone = Promise.withResolvers<void>();
  proxy.interfere = () => {
    proxy.interfere = () => "pass";
    isDone.resolve();
    return how;
  };
  await within("a statement of a replica", isDone.promise, 30_000);
  return true;
}
