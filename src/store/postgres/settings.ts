import { StoreOpenError } from "../open-error.ts";
import { describeHost, type PostgresAddress } from "./address.ts";
import { ConnectionLost, sqlState } from "./failure.ts";
import { safetySettings } from "./limits.ts";
import type { Session } from "./session.ts";

/**
 * Sets only the encoding of what is sent: behind a pooler, the next statement may run in another
 * session. A trigger may have changed it, also on login.
 * @throws {StoreOpenError} `unsupported`, `not_durable`; `inaccessible` for a host that rejects
 * writes.
 */
export async function assertServer(session: Session, address: PostgresAddress): Promise<void> {
  const host = describeHost(session.host);
  const read = `${readSettings}, set_config('client_encoding', 'UTF8', false)`;
  const rows = await session.query(read, [names]);
  const settings = new Map(rows.map(([name, value]) => [name, value]));
  const encoding = settings.get("server_encoding");
  // A pooler may have lost the connection between two statements.
  if (encoding === undefined) throw new ConnectionLost(`${host} did not tell its settings`);
  if (encoding !== "UTF8") {
    const problem = `the database at ${host} is encoded in ${encoding}, which cannot hold every text; create one with ENCODING 'UTF8' TEMPLATE template0`;
    throw new StoreOpenError("unsupported", problem);
  }
  if (settings.get("transaction_read_only") === "on") {
    // Unless it is a standby, it may still be the newest.
    await assertNewest(session, address).catch(() => {});
    address.timelines?.delete(host);
    const problem = `${host} is read-only: a standby, or set so; name the primary in the store URL, or all hosts`;
    throw new StoreOpenError("inaccessible", problem);
  }
  // First, so that the timeline of an unsafe host is known.
  await assertNewest(session, address);
  for (const name of safetySettings) assertSafe(host, name, settings.get(name), address);
}

/** A promotion begins a new timeline. What its old primary still accepts would be lost. */
async function assertNewest(session: Session, { hosts, timelines }: PostgresAddress) {
  if (timelines === undefined || timelines.has("unknown")) return;
  const [[cluster, isPlain, timeline] = []] = await session.query(findTimeline).catch((error) => {
    if (!/^(0A|42|55)/.test(sqlState(error) ?? "")) throw error;
    timelines.set("unknown", ""); // it has no such functions, or they have no log to read, as on Aurora
    return [];
  });
  // A node of Citus may have begun as a standby of another that goes on.
  const own = describeHost(session.host);
  const key = `${cluster} ${hosts.map(describeHost).includes(own) ? "" : own}`;
  if (String(timeline) < (timelines.get(key) ?? "")) {
    const problem = `${own} was the primary before a failover, and would lose plants; make it a standby, or shut the newer one down and restart plant-store`;
    throw new StoreOpenError("inaccessible", problem);
  }
  timelines.set(key, String(timeline)).set(own, String(cluster));
  const first = hosts.map(describeHost).find((name) => timelines.has(name)) ?? own;
  if (isPlain !== true || timelines.get(first) === cluster) return;
  // A logical subscriber accepts writes, too, but its publisher would never have them.
  const problem = `${own} is not a copy of ${first}, but another database; name one of them in the store URL`;
  throw new StoreOpenError("inaccessible", problem);
}

/** The name of a segment of the log begins with the timeline. A standby, behind a pooler, has none. */
export const findTimeline = `
  SELECT system_identifier::text, to_regclass('pg_dist_node') IS NULL, CASE WHEN pg_is_in_recovery()
    THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END FROM pg_control_system()`;

export function assertSafe(
  where: string,
  name: (typeof safetySettings)[number],
  value: unknown,
  { allowUnsafe }: PostgresAddress,
): void {
  if (value !== "off" || allowUnsafe.has(name)) return;
  const problem = `${where} runs with ${name}=off, and a crash of its machine would lose plants; turn it on, or accept that with allow_unsafe=${name} in the store URL`;
  throw new StoreOpenError("not_durable", problem);
}

const names = [...safetySettings, "server_encoding", "transaction_read_only"];

/** The values of the settings with the names $1. */
export const readSettings =
  "SELECT name, current_setting(name, true) FROM unnest($1::text[]) AS wanted (name)";
