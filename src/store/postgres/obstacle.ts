import type { Obstacle } from "../../plant.ts";
import { StoreOpenError, type StoreOpenErrorCode } from "../open-error.ts";
import { ConnectionLost, NoHost, sqlState } from "./failure.ts";

/** Classifies an error of a statement, a connection or an inspection. */
export function obstacleFrom(error: unknown): Obstacle {
  if (error instanceof NoHost) return ofHosts([...error.failures.values()].map(obstacleFrom));
  if (error instanceof StoreOpenError) return byOpenError[error.code] ?? "unwritable";
  if (error instanceof ConnectionLost) return "unreachable";
  const state = sqlState(error) ?? "";
  return byState[state] ?? byState[state.slice(0, 2)] ?? "unwritable";
}

/** The reason from a host that answered says more than the silence of others. */
function ofHosts(obstacles: readonly Obstacle[]): Obstacle {
  return obstacles.find((obstacle) => obstacle !== "unreachable") ?? "unreachable";
}

const byOpenError: Readonly<Partial<Record<StoreOpenErrorCode, Obstacle>>> = {
  not_durable: "not_durable",
  // An open session became read-only.
  inaccessible: "read_only",
  unsupported: "damaged",
  damaged: "damaged",
};

/** By SQLSTATE, whole or class. */
const byState: Readonly<Record<string, Obstacle>> = {
  "08": "unreachable", // connection_exception
  "25006": "read_only", // read_only_sql_transaction
  "28": "forbidden", // invalid_authorization_specification
  "3F000": "damaged", // invalid_schema_name: the schema is missing, and our tables with it
  "42501": "forbidden", // insufficient_privilege
  "42703": "damaged", // undefined_column
  "42P01": "damaged", // undefined_table
  "42P10": "damaged", // invalid_column_reference: the primary key is missing
  "40P01": "locked", // deadlock_detected
  "53100": "disk_full",
  "53300": "unreachable", // too_many_connections
  "55P03": "locked", // lock_not_available
  "57014": "locked", // query_canceled: by statement_timeout
  "57P01": "unreachable", // admin_shutdown
  "57P02": "unreachable", // crash_shutdown
  "57P03": "unreachable", // cannot_connect_now
};
