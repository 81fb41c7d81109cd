import pg from "pg";
import { StoreOpenError } from "../open-error.ts";

/** The connection was lost or given up before the server answered a statement. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  /** Whether it was given up because the server was silent. */
  readonly isSilent: boolean;

  constructor(message: string, options: { cause?: unknown; isSilent?: boolean } = {}) {
    super(message, options);
    this.isSilent = options.isSilent ?? false;
  }
}

/**
 * A statement did its work, but it is unknown whether the result is as durable or as final as
 * required.
 */
export class Unconfirmed extends Error {
  override readonly name = "Unconfirmed";
}

/** No host could be used. */
export class NoHost extends Error {
  override readonly name = "NoHost";
  /** By host; at least one. */
  readonly failures: ReadonlyMap<string, unknown>;

  constructor(failures: ReadonlyMap<string, unknown>) {
    const list = [...failures].map(([host, error]) => `${host} (${failureCode(error)})`);
    super(`no host can be used: ${list.join(", ")}`, { cause: [...failures.values()].at(-1) });
    this.failures = failures;
  }
}

/**
 * What helps after a failure: running the same statement `again`, or on another connection
 * (`elsewhere`), perhaps to another host. All our statements may be run twice, so it never matters
 * whether the first run did its work.
 */
export type Remedy = "again" | "elsewhere" | "none";

/** By SQLSTATE, either whole or its class (two characters). */
const remedies: Readonly<Record<string, Remedy>> = {
  // connection_failure: from a server that is up, but cannot reach one of its nodes
  "08006": "again",
  "40001": "again", // serialization_failure
  "40P01": "again", // deadlock_detected
  "40003": "again", // statement_completion_unknown
  "55P03": "again", // lock_not_available
  "57014": "again", // query_canceled: by an operator, or by statement_timeout
  "25006": "elsewhere", // read_only_sql_transaction: no longer the primary
  "53300": "elsewhere", // too_many_connections
  "57P01": "elsewhere", // admin_shutdown
  "57P02": "elsewhere", // crash_shutdown
  "57P03": "elsewhere", // cannot_connect_now
  "57P05": "elsewhere", // idle_session_timeout
  "08": "elsewhere", // connection_exception
};

export function remedyFor(error: unknown): Remedy {
  if (error instanceof Unconfirmed) return "again";
  if (error instanceof ConnectionLost || error instanceof NoHost) return "elsewhere";
  // An inspection found the session read-only: it is no longer connected to the primary.
  if (error instanceof StoreOpenError && error.code === "inaccessible") return "elsewhere";
  const state = sqlState(error) ?? "";
  return remedies[state] ?? remedies[state.slice(0, 2)] ?? "none";
}

/**
 * Whether a retry may succeed. With Citus, this includes the errors it reports for a node that it
 * has lost or cannot reach.
 */
export function mayPass(error: unknown): boolean {
  return remedyFor(error) !== "none" || sqlState(error) === "XX000";
}

/**
 * Whether an error may be due to one row of a statement: data exceptions, constraints, a row too large
 * for an index, and what a trigger raises. Not a name that is null: it is if the settings of a commit
 * have no effect. Citus may not tell which column is null.
 */
export function isOfRow(error: unknown): boolean {
  const state = sqlState(error) ?? "";
  if (state === "23502") return !["name", undefined].includes((error as pg.DatabaseError).column);
  return /^(22|23|54|P0)/.test(state) || isOfPolicy(error);
}

/** Row-level security rejects a row with the SQLSTATE of a missing right. */
function isOfPolicy(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.routine === "ExecWithCheckOptions";
}

/** Each try takes seconds, and a node that hangs rarely comes back soon. */
export function isSilent(error: unknown): boolean {
  if (error instanceof NoHost) return [...error.failures.values()].every(isSilent);
  return error instanceof ConnectionLost && error.isSilent;
}

/** Only for errors of the server: EPIPE and other system errors look alike. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The SQLSTATE, Node's code, our code, or the class of any other error. */
export function failureCode(error: unknown): string {
  if (error instanceof pg.DatabaseError) return error.code ?? "no SQLSTATE";
  if (error instanceof ConnectionLost && error.cause !== undefined) return failureCode(error.cause);
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.name : typeof error;
}
