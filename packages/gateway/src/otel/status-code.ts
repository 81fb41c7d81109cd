import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";

/** As Connect writes it: `invalid_argument`. A code that does not exist is `unknown`. */
export function connectStatusOf(code: Code): string {
  return codeToString(code in Code ? code : Code.Unknown);
}

/** As gRPC writes it: `OK`, `INVALID_ARGUMENT`. A code that does not exist is `UNKNOWN`. */
export function grpcStatusOf(code: Code | undefined): string {
  if (code === undefined) return "OK";
  return code === Code.Canceled ? "CANCELLED" : connectStatusOf(code).toUpperCase();
}

/**
 * Whether a code says that the service failed, and not its caller: `Unknown`, `DeadlineExceeded`,
 * `Unimplemented`, `Internal`, `Unavailable` and `DataLoss`. Spans of such calls have the status ERROR.
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
