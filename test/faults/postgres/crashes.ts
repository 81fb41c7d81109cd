/** One PostgreSQL: killed and restarted, its backends terminated, its connections cut. */

import { within } from "../../../packages/gateway/test/support/within.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { readPostgresPlants } from "../../support/store-place.ts";
import { type Interference, openTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { createRandom, type Random } from "../random.ts";
import { disturb, type PostgresRun } from "./disturb.ts";

const full = { restarts: 20, "backends terminated": 200, "connections cut": 200 } as const;
type Fault = keyof typeof full;

/** Occurs in each statement that stores plants, which is a transaction by itself. */
const mark = "INSERT INTO public.plants";

/** After the server has the whole statement, and before the client has the whole answer. */
const cuts: readonly Interference[] = ["cut-behind", "lose-answer", "truncate-answer"];

export async function crashes(run: PostgresRun): Promise<void> {
  const random = createRandom(run.seed, "crashes");
  await using server = await startPostgres({ installation: run.installation });
  const database = await server.createDatabase();
  // Each replica has its own proxy, so that a cut affects only one of them.
  await using one = await openTcpProxy(server.port, mark);
  await using two = await openTcpProxy(server.port, mark);
  const proxies = [one, two];
  const url = server.url(database);
  const inflict: Readonly<Record<Fault, () => Promise<boolean>>> = {
    restarts: () => restart(server, random),
    "backends terminated": () => terminate(server),
    "connections cut": () => cut(random.pick(proxies), random.pick(cuts)),
  };
  await disturb("crashes", run, {
    urls: proxies.map(({ port }) => url.replace(/:\d+\//, `:${port}/`)),
    store: { read: () => readPostgresPlants(server, database) },
    async inject({ load, check }) {
      const plan = (Object.keys(full) as Fault[]).flatMap((fault) =>
        Array<Fault>(run.scaled(full[fault])).fill(fault),
      );
      for (const [number, fault] of random.shuffle(plan).entries()) {
        await load.untilStored(random.int(1, 12));
        if (run.isOver()) break;
        if (await inflict[fault]()) run.count(fault);
        if (fault !== "restarts") continue;
        await check();
        run.log(`${number + 1} of ${plan.length} faults`);
      }
      await load.untilStored(1);
    },
  });
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
async function cut(proxy: TcpProxy, how: Interference): Promise<boolean> {
  const isDone = Promise.withResolvers<void>();
  proxy.interfere = () => {
    proxy.interfere = () => "pass";
    isDone.resolve();
    return how;
  };
  await within("a statement of a replica", isDone.promise, 30_000);
  return true;
}
