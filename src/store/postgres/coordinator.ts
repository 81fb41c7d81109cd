import { setTimeout as delay } from "node:timers/promises";
import { describeHost, type Host } from "./address.ts";
import { ConnectionLost, NoHost, Unconfirmed } from "./failure.ts";
import { coordinator, type Placement } from "./placement.ts";
import type { Row, Session } from "./session.ts";

/** Fewer questions cost the coordinator less, and a commit takes longer than this. */
const askIntervalMs = 2;

/** `unknown`: the coordinator cannot be asked. */
type Answer = "current" | "outdated" | "unknown";

/**
 * Asks the coordinator whether plants that a worker has committed are in the table, on a node of
 * the cluster. Citus's functions that replace a table copy it under a lock on the coordinator
 * alone, and drop the old one with what a worker commits in between. So the question comes after
 * the commit, and waits for that lock. Then the copy has the plants, or the table is another one.
 */
export function createCoordinator(query: (text: string) => Promise<readonly Row[]>) {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<readonly Row[]> | undefined;

  /** Calls during a question, or right after it, share the next one, which begins after them. */
  function askTogether(): Promise<readonly Row[]> {
    next ??= running.then(() => {
      next = undefined;
      const answer = query(question);
      running = Promise.all([answer.catch(() => {}), delay(askIntervalMs)]);
      return answer;
    });
    return next;
  }

  /** @param host Where the plants were committed. The cluster may have replaced it. */
  return async ({ table }: Placement, node: string, host: Host): Promise<Answer> => {
    try {
      const rows = await askTogether();
      if (rows[0]?.[2] !== true) return "unknown";
      const isCurrent = rows.some(
        ([lock, oid, , group, name, port]) =>
          lock === true &&
          String(oid) === table &&
          group === node &&
          describeHost({ name: String(name), port: Number(port) }) === describeHost(host),
      );
      return isCurrent ? "current" : "outdated";
    } catch (error) {
      if (error instanceof ConnectionLost || error instanceof NoHost) return "unknown";
      throw error;
    }
  };
}

/**
 * The lock comes first: it waits for the end of what replaces the table. While Citus gives a node
 * its metadata again, plants may be a local table there, whose rows nobody sees later.
 */
const question = `
  SELECT lock_relation_if_exists('@schema@.plants', 'ROW SHARE'), to_regclass('@schema@.plants')::oid,
    (SELECT groupid FROM pg_dist_local_group) = ${coordinator},
    CASE WHEN hasmetadata AND metadatasynced THEN groupid::text END, nodename, nodeport
  FROM pg_dist_node WHERE noderole = 'primary' AND isactive`;

/** A statement on a worker for plants of other workers meets no lock either. @throws {Unconfirmed} */
export async function assertCoordinator(session: Session): Promise<void> {
  const [row] = await session.query("SELECT groupid FROM pg_dist_local_group");
  if (String(row?.[0]) !== coordinator) throw new Unconfirmed("the coordinator cannot be reached");
}

/**
 * Whether plants that a worker has committed are safe although the coordinator cannot be asked:
 * nobody copies the table's shards now, which takes locks until the end, and nobody has replaced or
 * moved them. A reader may prevent that, but not for long without a coordinator.
 */
export async function isUntouched(session: Session, shards: readonly string[]): Promise<boolean> {
  // Two statements: the second must not see an older state than the first.
  const [locks] = await session.query(findLocks, [shards]);
  const [found] = await session.query(countShards, [shards]);
  return locks?.[0] === false && Number(found?.[0]) === shards.length;
}

const ownShards = `
  FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid)
  WHERE shardid = ANY ($1::bigint[])`;

const countShards = `SELECT count(*) ${ownShards}`;

/** Of our sessions, Citus runs statements for several shards in others, which name the process. */
const findLocks = `
  WITH own AS (
    SELECT 'citus_internal gpid=' || (nodeid * 10000000000 + pid) AS inner_name
    FROM pg_stat_activity, pg_dist_node JOIN pg_dist_local_group USING (groupid)
    WHERE application_name = 'plant-store' AND noderole = 'primary')
  SELECT EXISTS (
    SELECT FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
    WHERE mode NOT IN ('RowExclusiveLock', 'ShareUpdateExclusiveLock')
      AND application_name IS DISTINCT FROM 'plant-store'
      AND NOT EXISTS (SELECT FROM own WHERE inner_name = application_name)
      AND relation IN (
        SELECT to_regclass('@schema@.plants_' || shardid) ${ownShards}))`;
