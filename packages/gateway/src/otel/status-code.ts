import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";

/** In Connect's form: `invalid_argument`. An unknown code is `unknown`. */
export function connectStatusOf(code: Code): string {
  return codeToString(code in Code ? code : Code.Unknown);
}

/** In gRPC's form: `OK`, `INVALID_ARGUMENT`. An unknown code is `UNKNOWN`. */
export function grpcStatusOf(code: Code | undefined): string {
  if (code === undefined) return "OK";
  return code === Code.Canceled ? "CANCELLED" : connectStatusOf(code).toUpperCase();
}

/**
 * Whether a code means that the service failed, not the caller: `Unknown`, `DeadlineExceeded`,
 * `Unimplemented`, `Internal`, `Unavailable` and `DataLoss`. Spans of such calls have the status
 * ERROR.
 */
export function isServerError(code: Code | undefined): boolean {
  return code !== undefined && (serverErrors.has(code) || !(code in Code));
}

const serverErrors: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);
