/**
 * The part of Citus that the store uses, simulated in PostgreSQL: the placement of plants.
 */
import { readFileSync } from "node:fs";
import type { NewPlant } from "../../../src/plant.ts";
import type { PostgresDatabases } from "../../support/postgres-databases.ts";
import { plantOf } from "../plant-of.ts";

/**
 * Call after the store's tables have been created. Two nodes with shards, and a coordinator.
 *
 * @param group Which of them the server is; 0 is the coordinator.
 */
export async function fakeCitus(server: PostgresDatabases, database: string, group = 0) {
  const run = (sql: string) => server.query(sql, database);
  const tables = readFileSync(new URL("fake-citus.sql", import.meta.url), "utf8");
  await run(tables.replaceAll(":group", `${group}`));
  return {
    async plantsOf(node: number, count: number): Promise<readonly NewPlant[]> {
      const ids = await run(
        `SELECT id FROM generate_series(0, 1000) AS id WHERE node_of(id) = ${node}
         ORDER BY id LIMIT ${count}`,
      );
      return ids.map(({ id }) => plantOf(Number(id)));
    },
    /** From the next inspection on, a node accepts statements directly, at a port of this machine. */
    open: (node: number, port: number) =>
      run(`UPDATE pg_dist_node SET nodename = '127.0.0.1', nodeport = ${port}, hasmetadata = true
        WHERE groupid = ${node}`),
    /**
     * Sets what nodes report for fsync, full_page_writes and synchronous_commit; undefined: no
     * answer.
     */
    async answer(answers: Readonly<Record<string, string | undefined>>) {
      const rows = Object.entries(answers).map(
        ([name, text]) =>
          `((SELECT nodeid FROM pg_dist_node WHERE nodename = '${name}'), ${text !== undefined}, '${text}')`,
      );
      await run(`DELETE FROM answers; INSERT INTO answers VALUES ${rows.join(", ")}`);
    },
  };
}
