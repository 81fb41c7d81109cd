import { StoreOpenError } from "../open-error.ts";
import { describeHost, type PostgresAddress } from "./address.ts";
import { safetySettings } from "./limits.ts";
import type { Session } from "./session.ts";
import { assertSafe } from "./settings.ts";

export interface Node {
  /** Its host and port, as known to the cluster. */
  readonly name: string;
  /** Whether it holds shards. The coordinator usually holds none. */
  readonly hasShards: boolean;
  /** Undefined if it could not be queried. */
  readonly settings: ReadonlyMap<string, string | undefined> | undefined;
}

/** Which libraries may decode the WAL. PostgreSQL has it since late 2026. Unknown to most roles. */
const decoders = "output_plugin_libraries";

const names = [...safetySettings, "synchronous_commit", "wal_level", decoders];

/** @returns Empty for a database that is not a cluster. */
export async function readNodes(session: Session): Promise<readonly Node[]> {
  const [row] = await session.query("SELECT to_regproc('run_command_on_all_nodes') IS NOT NULL");
  if (row?.[0] !== true) return [];
  const rows = await session.query(askNodes, [question]);
  return rows.map(([name, hasShards, isAnswered, answer]) => ({
    name: String(name),
    hasShards: hasShards === true,
    settings: isAnswered === true ? parseAnswer(answer) : undefined,
  }));
}

/** Asks a node with shards over a session of its own. */
export async function readNode(session: Session): Promise<Node> {
  const [row] = await session.query(question);
  return { name: describeHost(session.host), hasShards: true, settings: parseAnswer(row?.[0]) };
}

function parseAnswer(answer: unknown): ReadonlyMap<string, string | undefined> {
  const values = String(answer).split(" ");
  return new Map(names.map((name, i) => [name, values[i]]));
}

/**
 * Checks the settings without which plants are lost. A node commits in sessions that it opens for
 * the coordinator, with its own defaults. One that cannot be asked stores no plants either. @throws
 * {StoreOpenError} `not_durable`
 */
export function assertNodes(nodes: readonly Node[], address: PostgresAddress): void {
  for (const { name, hasShards, settings } of nodes) {
    if (settings === undefined) continue;
    for (const setting of safetySettings) {
      assertSafe(`the node ${name}`, setting, settings.get(setting), address);
    }
    const commit = settings.get("synchronous_commit") ?? "";
    if (!hasShards || ["on", "remote_apply"].includes(commit)) continue;
    const problem = `the node ${name} runs with synchronous_commit=${commit} for this user, and a crash of it would lose plants; set it to on there`;
    throw new StoreOpenError("not_durable", problem);
  }
}

/** The values have no spaces. `concat_ws` leaves out the last where it is unknown. */
const question = `SELECT concat_ws(' ', ${names.map(settingOf).join(", ")})`;

/** Without the role, a setting that only superusers may read would fail the whole question. */
function settingOf(name: string): string {
  const value = `replace(current_setting('${name}', true), ' ', '')`;
  if (name !== decoders) return value;
  return `CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE') THEN ${value} END`;
}

const askNodes = `
  SELECT nodename || ':' || nodeport, groupid <> 0 OR shouldhaveshards, success, result
  FROM run_command_on_all_nodes($1) JOIN pg_dist_node USING (nodeid)`;
