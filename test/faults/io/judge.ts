import { constants } from "node:os";
import { acknowledgedName, type Call } from "../disk/call-log.ts";
import type { CreatingReport } from "../disk/creating-child.ts";
import type { FaultKind } from "./fault-kinds.ts";

/**
 * What is wrong with a store's reaction to a fault, according to its own reports; undefined if
 * nothing is.
 */
export function judge(
  report: CreatingReport,
  calls: readonly Call[],
  fault: FaultKind,
): string | undefined {
  if (report.afterFailure > 0) return "it acknowledged after it had said that it failed for good";
  if (report.readyAfterFailure) return "it has failed for good, and is ready";
  // One commit may already have been on its way to its caller.
  if (acknowledgedAfterFailedSync(calls) > 1) return "it acknowledged after a sync had failed";
  if (report.refused !== undefined) return undefined;
  if (fault.errno === constants.errno.EIO && report.failed > 0 && report.failure === undefined) {
    return "it went on after an error of the disk";
  }
  if (fault.errno === constants.errno.ENOSPC && report.failure !== undefined) {
    return `it failed for good when the disk was full (${report.failure})`;
  }
  if (fault.passes && report.failedAgain > 0) return "it did not recover when there was room again";
  if (fault.name === "a short write" && report.failed > 0) {
    return "a create failed although the rest of it could be written";
  }
  return undefined;
}

/** Until the store was opened again. */
function acknowledgedAfterFailedSync(calls: readonly Call[]): number {
  let hasFailed = false;
  let acknowledged = 0;
  for (const { kind, path, result } of calls) {
    const isData = path.endsWith(".db") || path.endsWith("-wal");
    if (kind === "sync" && isData && result < 0) hasFailed = true;
    if (kind === "open" && path.endsWith(".db")) hasFailed = false;
    if (kind === "write" && path.endsWith(`/${acknowledgedName}`) && hasFailed) acknowledged++;
  }
  return acknowledged;
}
