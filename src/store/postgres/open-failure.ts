import { StoreOpenError, type StoreOpenErrorCode } from "../open-error.ts";
import { failureCode, NoHost, remedyFor, sqlState } from "./failure.ts";

/** Our codes, by SQLSTATE or its class. */
const openErrors: Readonly<Record<string, readonly [StoreOpenErrorCode, string]>> = {
  "28": ["inaccessible", "the server refuses this user or password; check both, and pg_hba.conf"],
  "3D000": ["inaccessible", "there is no such database; create it"],
  "42501": [
    "inaccessible",
    "permission denied; docs/postgresql.md lists the rights that are needed",
  ],
  "42P01": ["damaged", "a table of ours is missing; restore it from a backup"],
  "42P10": ["damaged", "the table plants has lost its primary key; restore it"],
  "53300": ["in_use", "the server has no connection left; allow more, or end others"],
  "57P03": ["inaccessible", "the server is starting up or shutting down; try again later"],
};

/** Whether the server is up but not ready yet, and may soon be. */
export function isPassing(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => sqlState(cause) !== undefined && remedyFor(cause) !== "none",
  );
}

/**
 * Explains why a store could not be opened, so that an operator can fix it. If there are several
 * hosts, reports the one that got furthest.
 */
export function openError(error: unknown): StoreOpenError {
  const causes = causesOf(error);
  const ours = causes.find((cause) => cause instanceof StoreOpenError);
  if (ours !== undefined) return ours;
  const refused = causes.find((cause) => sqlState(cause) !== undefined);
  if (refused !== undefined) {
    const state = sqlState(refused) ?? "";
    const [code, advice] = openErrors[state] ??
      openErrors[state.slice(0, 2)] ?? ["inaccessible", "the server reports an error"];
    const message = `cannot open the store: ${advice} (SQLSTATE ${state})`;
    return new StoreOpenError(code, message, { cause: error });
  }
  const hosts =
    error instanceof NoHost
      ? [...error.failures].map(([host, cause]) => `${host} (${failureCode(cause)})`).join(", ")
      : failureCode(error);
  return new StoreOpenError(
    "inaccessible",
    `cannot connect to ${hosts}; check that the server runs, and whether it speaks TLS: sslmode in the store URL says what we do`,
    { cause: error },
  );
}

function causesOf(error: unknown): readonly unknown[] {
  return error instanceof NoHost ? [...error.failures.values()] : [error];
}
