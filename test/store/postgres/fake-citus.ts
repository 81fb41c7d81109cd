/**
 * The part of Citus that the store uses, simulated in PostgreSQL: placement of plants, and failing
 * nodes.
 */
import type { PostgresDatabases } from "../../support/postgres-databases.ts";

export interface FakeCitus {
  /** The first ids, from 0, that a node stores. */
  idsOf(node: number, count: number): Promise<readonly bigint[]>;
  /** From now on, statements that touch a node fail as Citus reports it, with this SQLSTATE. */
  fail(node: number, state: string): Promise<void>;
  mend(): Promise<void>;
  /** From the next inspection on, a node accepts statements directly, at a port of this machine. */
  open(node: number, port: number): Promise<void>;
  /**
   * Sets what nodes report for fsync, full_page_writes and synchronous_commit; undefined: no
   * answer.
   */
  answer(answers: Readonly<Record<string, string | undefined>>): Promise<void>;
}

/**
 * Call after the store's tables have been created. Two nodes with shards, and a coordinator.
 *
 * @param group Which of them the server is; 0 is the coordinator.
 */
export async function fakeCitus(
  server: PostgresDatabases,
  database: string,
  group = 0,
): Promise<FakeCitus> {
  const run = (sql: string) => server.query(sql, database);
  await run(`
    CREATE TABLE pg_dist_shard AS
      SELECT 'plants'::regclass AS logicalrelid, number AS shardid,
        (number * 134217728::bigint - 2147483648)::text AS shardminvalue
      FROM generate_series(0, 31) AS number;
    CREATE TABLE pg_dist_placement AS
      SELECT 100 + shardid AS placementid, shardid, 1 + shardid % 2 AS groupid FROM pg_dist_shard;
    CREATE TABLE pg_dist_local_group AS SELECT ${group} AS groupid;
    CREATE FUNCTION lock_relation_if_exists(name text, mode text) RETURNS boolean
      LANGUAGE plpgsql AS 'BEGIN LOCK TABLE plants IN ROW SHARE MODE; RETURN true; END';
    CREATE FUNCTION shard_name(name regclass, shardid bigint) RETURNS text
      LANGUAGE sql AS 'SELECT name::text';
    CREATE TABLE pg_dist_node AS
      SELECT number + 1 AS nodeid, number AS groupid, name AS nodename, 5432 AS nodeport,
        number > 0 AS shouldhaveshards, 'primary' AS noderole, true AS isactive,
        false AS hasmetadata, true AS metadatasynced
      FROM (VALUES (0, 'c'), (1, 'w1'), (2, 'w2')) AS nodes (number, name);
    CREATE TABLE answers (nodeid int, success boolean, result text);
    CREATE FUNCTION run_command_on_all_nodes(command text)
      RETURNS TABLE (nodeid int, success boolean, result text)
      LANGUAGE sql AS 'SELECT * FROM answers';
    CREATE FUNCTION node_of(id bigint) RETURNS int LANGUAGE sql AS
      'SELECT (1 + ((hashint8(id)::bigint + 2147483648) / 134217728) % 2)::int';
    CREATE TABLE failing (node int, state text);
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE found text;
      BEGIN
        SELECT state INTO found FROM failing WHERE node = node_of(NEW.id) LIMIT 1;
        IF found IS NOT NULL THEN
          RAISE EXCEPTION 'the node is lost' USING ERRCODE = found;
        END IF;
        RETURN NEW;
      END $$;
    CREATE TRIGGER fail BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION fail()`);
  return {
    async idsOf(node, count) {
      const rows = await run(
        `SELECT id FROM generate_series(0::bigint, 1000) AS id WHERE node_of(id) = ${node} LIMIT ${count}`,
      );
      return rows.map(({ id }) => BigInt(String(id)));
    },
    async fail(node, state) {
      await run(`INSERT INTO failing VALUES (${node}, '${state}')`);
    },
    async mend() {
      await run("DELETE FROM failing");
    },
    async open(node, port) {
      await run(
        `UPDATE pg_dist_node SET nodename = '127.0.0.1', nodeport = ${port}, hasmetadata = true
         WHERE groupid = ${node}`,
      );
    },
    async answer(answers) {
      const rows = Object.entries(answers).map(([name, text]) => {
        const node = `(SELECT nodeid FROM pg_dist_node WHERE nodename = '${name}')`;
        return text === undefined ? `(${node}, false, '')` : `(${node}, true, '${text}')`;
      });
      await run(`DELETE FROM answers; INSERT INTO answers VALUES ${rows.join(", ")}`);
    },
  };
}
