import { StoreOpenError } from "../open-error.ts";
import { describeHost, type PostgresAddress } from "./address.ts";
import { ConnectionLost } from "./failure.ts";
import { safetySettings } from "./limits.ts";
import type { Session } from "./session.ts";

/**
 * Sets none: behind a pooler, the next statement may run in another session.
 * @throws {StoreOpenError} `unsupported`, `not_durable`; `inaccessible` for a host that rejects
 * writes.
 */
export async function assertServer(session: Session, address: PostgresAddress): Promise<void> {
  const host = describeHost(session.host);
  const rows = await session.query(readSettings, [names]);
  const settings = new Map(rows.map(([name, value]) => [name, value]));
  const encoding = settings.get("server_encoding");
  // A pooler may have lost the connection between two statements.
  if (encoding === undefined) throw new ConnectionLost(`${host} did not tell its settings`);
  if (encoding !== "UTF8") {
    const problem = `the database at ${host} is encoded in ${encoding}, which cannot hold every text; create one with ENCODING 'UTF8' TEMPLATE template0`;
    throw new StoreOpenError("unsupported", problem);
  }
  if (settings.get("transaction_read_only") === "on") {
    const problem = `${host} is read-only: a standby, or set so; name the primary in the store URL, or all hosts`;
    throw new StoreOpenError("inaccessible", problem);
  }
  for (const name of safetySettings) assertSafe(host, name, settings.get(name), address);
}

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
