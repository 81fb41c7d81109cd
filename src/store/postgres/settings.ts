import { StoreOpenError } from "../open-error.ts";
import { describeHost, type PostgresAddress, safetySettings } from "./address.ts";
import { ConnectionLost } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import type { Session } from "./session.ts";

/** Those that a database does not have are null: sharded ones lack some. */
type Settings = ReadonlyMap<string, string | null>;

/**
 * Checks what the server says of itself, and puts in force what the session
 * needs, whatever the role, the database or the server have as their default.
 *
 * @throws {StoreOpenError} `unsupported`, `not_durable`; `inaccessible` for a
 * host that takes no writes.
 */
export async function prepareSession(
  session: Session,
  address: PostgresAddress,
  { connectTimeoutMs, statementTimeoutMs }: PostgresLimits,
): Promise<void> {
  const host = describeHost(session.host);
  const settings = await read(session, connectTimeoutMs);
  assertUtf8(host, settings);
  assertWritable(host, settings);
  assertSafe(host, settings, address);
  const wanted = {
    // As a client's own setting it outlives every reload of the server's configuration.
    synchronous_commit:
      settings.get("synchronous_commit") === "remote_apply" ? "remote_apply" : "on",
    // Else NULL within an array is the text "NULL".
    array_nulls: "on",
    // Hides what a commit warns of, otherwise.
    client_min_messages: "warning",
    statement_timeout: String(statementTimeoutMs),
  };
  const present = Object.entries(wanted).filter(([name]) => typeof settings.get(name) === "string");
  const names = present.map(([name]) => name);
  const values = present.map(([, value]) => value);
  await session.query(setAll, [names, values], connectTimeoutMs);
  assertInForce(host, await read(session, connectTimeoutMs), wanted);
}

/**
 * Checks a prepared session again: a reload of the server's configuration may
 * have changed what it says of itself.
 *
 * @throws {StoreOpenError} as {@link prepareSession}.
 */
export async function inspectSession(
  session: Session,
  address: PostgresAddress,
  timeoutMs: number,
): Promise<void> {
  const host = describeHost(session.host);
  const settings = await read(session, timeoutMs);
  assertUtf8(host, settings);
  assertWritable(host, settings);
  assertSafe(host, settings, address);
  const commit = settings.get("synchronous_commit") === "remote_apply" ? "remote_apply" : "on";
  assertInForce(host, settings, { synchronous_commit: commit, array_nulls: "on" });
}

function assertInForce(
  host: string,
  settings: Settings,
  wanted: Readonly<Record<"synchronous_commit" | "array_nulls", string>>,
): void {
  for (const name of ["synchronous_commit", "array_nulls"] as const) {
    const value = settings.get(name);
    if (value !== null && value !== wanted[name]) {
      throw new StoreOpenError(
        "not_durable",
        `${host} keeps ${name} at ${value} instead of ${wanted[name]}; use another server, or connect to it without a pooler`,
      );
    }
  }
}

const names = [
  ...safetySettings,
  "server_encoding",
  "transaction_read_only",
  "synchronous_commit",
  "array_nulls",
  "client_min_messages",
  "statement_timeout",
];

const readAll = "SELECT name, current_setting(name, true) FROM unnest($1::text[]) AS wanted (name)";

const setAll =
  "SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS wanted (name, value)";

async function read(session: Session, timeoutMs: number): Promise<Settings> {
  const rows = await session.query(readAll, [names], timeoutMs);
  return new Map(rows.map(([name, value]) => [String(name), value as string | null]));
}

function assertUtf8(host: string, settings: Settings): void {
  const encoding = settings.get("server_encoding");
  // A transaction pooler may have lost the connection between two statements.
  if (encoding === undefined) throw new ConnectionLost(`${host} did not tell its settings`);
  if (encoding === "UTF8") return;
  throw new StoreOpenError(
    "unsupported",
    `the database at ${host} is encoded in ${encoding}, which cannot hold every text; create one with ENCODING 'UTF8' TEMPLATE template0`,
  );
}

function assertWritable(host: string, settings: Settings): void {
  if (settings.get("transaction_read_only") !== "on") return;
  throw new StoreOpenError(
    "inaccessible",
    `${host} is read-only: a standby, or set so; name the primary in the store URL, or all hosts`,
  );
}

function assertSafe(host: string, settings: Settings, { allowUnsafe }: PostgresAddress): void {
  for (const name of safetySettings) {
    if (settings.get(name) !== "off" || allowUnsafe.has(name)) continue;
    throw new StoreOpenError(
      "not_durable",
      `${host} runs with ${name}=off, and a crash of its machine would lose plants; turn it on, or accept that with allow_unsafe=${name} in the store URL`,
    );
  }
}
