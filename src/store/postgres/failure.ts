/** The failures of PostgreSQL: from what the driver reports to what callers, `/readyz` and operators hear. */
import pg from "pg";
import type { Obstacle } from "../../plant.ts";
import { StoreOpenError, type StoreOpenErrorCode } from "../open-error.ts";

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

/** A statement did its work, but perhaps not as durably or finally as required. */
export class Unconfirmed extends Error {
  override readonly name = "Unconfirmed";
}

export class NoHost extends Error {
  override readonly name = "NoHost";
  /** By host; at least one. */
  readonly failures: ReadonlyMap<string, unknown>;

  constructor(failures: ReadonlyMap<string, unknown>) {
    const list = [...failures].map(([host, error]) => `${host} (${failureCode(error)})`);
    super(`cannot connect to ${list.join(", ")}`, { cause: [...failures.values()].at(-1) });
    this.failures = failures;
  }
}

/** Run the statement `again`, or on another connection (`elsewhere`). All may be run twice. */
export type Remedy = "again" | "elsewhere" | "none";

interface Meaning {
  /** Default: `none`. */
  readonly remedy?: Remedy;
  /** What prevents creates. Default: `unwritable`. */
  readonly obstacle?: Obstacle;
  /** Why a store cannot be opened, and what to do. */
  readonly opening?: readonly [StoreOpenErrorCode, string];
  /** Whether it may be due to one row of a statement. Default: no. */
  readonly isOfRow?: boolean;
}

const down = { remedy: "elsewhere", obstacle: "unreachable" } as const;
const locked = {
  remedy: "again",
  obstacle: "locked",
  opening: ["in_use", "another program locks the tables, or a timeout is too short; change that"],
} as const;
const ofRow = { isOfRow: true } as const;

/** By SQLSTATE, or by its class (two characters) for all others of the class. */
const meanings: Readonly<Record<string, Meaning>> = {
  "08": down, // connection_exception
  // connection_failure: from a server that is up, but cannot reach one of its nodes
  "08006": { remedy: "again", obstacle: "unreachable" },
  "22": ofRow, // data_exception
  "23": ofRow, // integrity_constraint_violation
  "25P03": { remedy: "elsewhere" }, // idle_in_transaction_session_timeout
  "25P04": { remedy: "elsewhere" }, // transaction_timeout
  // read_only_sql_transaction: no longer the primary
  "25006": { remedy: "elsewhere", obstacle: "read_only" },
  "28": {
    obstacle: "forbidden",
    opening: [
      "inaccessible",
      "the server refuses this user or password; check both, and pg_hba.conf",
    ],
  },
  "3D000": {
    obstacle: "damaged",
    opening: ["inaccessible", "there is no such database; create it"],
  },
  "38": ofRow, // external_routine_exception: raised by a trigger in Python or Perl
  "3F000": { obstacle: "damaged" }, // invalid_schema_name: the schema is missing, and our tables with it
  "40001": { remedy: "again" }, // serialization_failure
  "40003": { remedy: "again" }, // statement_completion_unknown
  "40P01": locked, // deadlock_detected
  "42501": {
    obstacle: "forbidden",
    opening: [
      "inaccessible",
      "permission denied; docs/postgresql.md lists the rights that are needed",
    ],
  },
  "42703": { obstacle: "damaged" }, // undefined_column
  "42P01": {
    obstacle: "damaged",
    opening: ["damaged", "a table of ours is missing; restore it from a backup"],
  },
  // invalid_column_reference
  "42P10": {
    obstacle: "damaged",
    opening: ["damaged", "plants has no primary key, or a publication filters updates; undo that"],
  },
  "53100": { obstacle: "disk_full" },
  "53300": {
    ...down,
    opening: ["in_use", "the server has no connection left; allow more, or end others"],
  },
  "54": ofRow, // program_limit_exceeded: too large for an index
  "55P03": locked, // lock_not_available
  "57014": locked, // query_canceled: by an operator, or by statement_timeout
  "57P01": down, // admin_shutdown
  "57P02": down, // crash_shutdown
  "57P03": {
    ...down,
    opening: ["inaccessible", "the server is starting up or shutting down; try again later"],
  },
  "57P05": { remedy: "elsewhere" }, // idle_session_timeout
  P0: ofRow, // raised by a trigger
};

function meaningOf(error: unknown): Meaning {
  const state = sqlState(error) ?? "";
  return meanings[state] ?? meanings[state.slice(0, 2)] ?? (ofUsers.test(state) ? ofRow : {});
}

/** Of classes that are free for users, whose triggers raise them. */
const ofUsers = /^(?:(?!5[34578]|72|XX)[5-9I-Z]|45)/;

export function remedyFor(error: unknown): Remedy {
  if (error instanceof Unconfirmed) return "again";
  if (error instanceof ConnectionLost || error instanceof NoHost) return "elsewhere";
  // An inspection found the session read-only: it is no longer connected to the primary.
  if (error instanceof StoreOpenError && error.code === "inaccessible") return "elsewhere";
  return meaningOf(error).remedy ?? "none";
}

/** Whether a retry may succeed: XX000 is what Citus reports for a node that it cannot reach. */
export function mayPass(error: unknown): boolean {
  return remedyFor(error) !== "none" || sqlState(error) === "XX000";
}

/** Not a name that is null: that is if the settings of a commit have no effect. */
export function isOfRow(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  if (error.code === "23502") return !["name", undefined].includes(error.column);
  // No transaction gets a number any more (wraparound), or the table cannot grow.
  if (/^(GetNew|md)/.test(error.routine ?? "")) return false;
  // Row-level security rejects a row with the SQLSTATE of a missing right.
  return meaningOf(error).isOfRow === true || error.routine === "ExecWithCheckOptions";
}

export function obstacleFrom(error: unknown): Obstacle {
  if (error instanceof NoHost) {
    // The reason from a host that answered says more than the silence of others.
    const obstacles = [...error.failures.values()].map(obstacleFrom);
    return obstacles.find((obstacle) => obstacle !== "unreachable") ?? "unreachable";
  }
  if (error instanceof StoreOpenError) return byOpenError[error.code] ?? "unwritable";
  if (error instanceof ConnectionLost) return "unreachable";
  return meaningOf(error).obstacle ?? "unwritable";
}

const byOpenError: Readonly<Partial<Record<StoreOpenErrorCode, Obstacle>>> = {
  not_durable: "not_durable",
  // An open session became read-only.
  inaccessible: "read_only",
  unsupported: "damaged",
  damaged: "damaged",
};

/** Each try takes seconds, and a node that hangs rarely comes back soon. */
export function isSilent(error: unknown): boolean {
  if (error instanceof NoHost) return [...error.failures.values()].every(isSilent);
  return error instanceof ConnectionLost && error.isSilent;
}

/** Only for errors of the server: EPIPE and other system errors look alike. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The SQLSTATE, Node's code, our code, or the class of any other error; of the driver's, its words. */
export function failureCode(error: unknown): string {
  if (error instanceof pg.DatabaseError) return error.code ?? "no SQLSTATE";
  if (error instanceof ConnectionLost && error.cause !== undefined) return failureCode(error.cause);
  if (error instanceof Error && "code" in error) return String(error.code);
  if (!(error instanceof Error)) return typeof error;
  return error.name === "Error" ? error.message : error.name;
}

/** Whether the server is up but not ready yet, and may soon be. */
export function isPassing(error: unknown): boolean {
  return causesOf(error).some((one) => sqlState(one) !== undefined && remedyFor(one) !== "none");
}

/** Explains why a store could not be opened: of several hosts, by the one that got furthest. */
export function openError(error: unknown): StoreOpenError {
  const causes = causesOf(error);
  const ours = causes.find((cause) => cause instanceof StoreOpenError);
  if (ours !== undefined) return ours;
  const refused = causes.find((cause): cause is pg.DatabaseError => sqlState(cause) !== undefined);
  if (refused !== undefined) {
    const { opening = ["inaccessible", "the server reports an error"] as const } =
      meaningOf(refused);
    const [code, advice] = opening;
    const message = `cannot open the store: ${advice} (${refused.message}, SQLSTATE ${refused.code})`;
    return new StoreOpenError(code, message, { cause: error });
  }
  const problem = error instanceof Error ? error.message : String(error);
  const advice =
    error instanceof Unconfirmed
      ? "start the standby, or take it out of synchronous_standby_names"
      : "check that the server runs, and that sslmode in the store URL fits it";
  return new StoreOpenError("inaccessible", `${problem}; ${advice}`, { cause: error });
}

function causesOf(error: unknown): readonly unknown[] {
  return error instanceof NoHost ? [...error.failures.values()] : [error];
}
