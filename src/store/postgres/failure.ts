import pg from "pg";
import { StoreOpenError } from "../open-error.ts";

/** The connection was lost, or given up, with no word from the server about a statement. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** A statement did its work, and it is not known to be as safe, or as settled, as it must be. */
export class Unconfirmed extends Error {
  override readonly name = "Unconfirmed";
}

/** No host could be used. */
export class NoHost extends Error {
  override readonly name = "NoHost";
  /** By the host; at least one. */
  readonly failures: ReadonlyMap<string, unknown>;

  constructor(failures: ReadonlyMap<string, unknown>) {
    const list = [...failures].map(([host, error]) => `${host} (${failureCode(error)})`);
    super(`no host can be used: ${list.join(", ")}`, { cause: [...failures.values()].at(-1) });
    this.failures = failures;
  }
}

/**
 * What helps after a failure: the same statement `again`, or on another
 * connection (`elsewhere`), perhaps to another host. All statements of ours may
 * be run twice, so that it never matters whether the first did its work.
 */
export type Remedy = "again" | "elsewhere" | "none";

/** SQLSTATEs, whole or by class (two characters). */
const remedies: Readonly<Record<string, Remedy>> = {
  // connection_failure: of a server that answers, to a node of its own.
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
  // An inspection has found a session read-only: it is no longer with the primary.
  if (error instanceof StoreOpenError && error.code === "inaccessible") return "elsewhere";
  const state = sqlState(error) ?? "";
  return remedies[state] ?? remedies[state.slice(0, 2)] ?? "none";
}

/**
 * Whether it may succeed when it is tried again. With Citus that holds as well
 * for what it reports of a node that it cannot reach, or has lost.
 */
export function mayPass(error: unknown): boolean {
  return remedyFor(error) !== "none" || sqlState(error) === "XX000";
}

/** Of errors of the server alone: EPIPE and others of the system look alike. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** SQLSTATE, code of Node's, code of ours, or the class of any other error. */
export function failureCode(error: unknown): string {
  if (error instanceof pg.DatabaseError) return error.code ?? "no SQLSTATE";
  if (error instanceof StoreOpenError) return error.code;
  if (error instanceof ConnectionLost && error.cause !== undefined) return failureCode(error.cause);
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.name : typeof error;
}
