/** How a store's calls fail, and how it must react. */
import { constants } from "node:os";
import { acknowledgedBy, type Call } from "../disk/call-log.ts";
import type { CreatingReport } from "../disk/creating-child.ts";
import type { Fault } from "../disk/recording.ts";

export interface FaultKind extends Omit<Fault, "at"> {
  readonly name: string;
  /** The calls that can fail in this way. */
  readonly calls: readonly Call["kind"][];
  /** Whether the fault disappears after a failed create, while the store is open. */
  readonly passes?: boolean;
}

const { EIO, ENOSPC, EMFILE, ENOMEM } = constants.errno;
const taking = ["write", "open", "truncate", "mkdir"] as const;
const any = [...taking, "sync", "unlink"] as const;
const untilRoom = { errno: ENOSPC, scope: "space", passes: true } as const;

/** The rest can be written, so nothing has failed. */
const shortWrite: FaultKind = {
  ...{ name: "a short write", errno: ENOSPC, scope: "once", short: true },
  calls: ["write"],
};

export const faultKinds: readonly FaultKind[] = [
  { name: "EIO once", errno: EIO, scope: "once", calls: any },
  { name: "EIO for good", errno: EIO, scope: "same", calls: any },
  { name: "ENOSPC once", errno: ENOSPC, scope: "once", calls: taking },
  { name: "ENOSPC until there is room", ...untilRoom, calls: taking },
  {
    ...{ name: "a short write, then ENOSPC until there is room", ...untilRoom, short: true },
    calls: ["write"],
  },
  shortWrite,
  { name: "EMFILE once", errno: EMFILE, scope: "once", calls: ["open"] },
  { name: "ENOMEM once", errno: ENOMEM, scope: "once", calls: ["map"] },
];

/** What is wrong with a store's reaction to a fault, according to its own reports. */
export function judge(report: CreatingReport, calls: readonly Call[], fault: FaultKind): string[] {
  const { refused, failed, failedAgain, afterFailure, failure, readyAfterFailure } = report;
  const hasFailed = failure !== undefined;
  const checks = {
    "it acknowledged after it had said that it failed for good": afterFailure > 0,
    "it has failed for good, and is ready": readyAfterFailure,
    // One commit may already have been on its way to its caller.
    "it acknowledged after a sync had failed": acknowledgedAfterFailedSync(calls) > 1,
    ...(refused === undefined && {
      "it went on after an error of the disk": fault.errno === EIO && failed > 0 && !hasFailed,
      [`it failed for good when the disk was full (${failure})`]:
        fault.errno === ENOSPC && hasFailed,
      "it did not recover when there was room again": fault.passes && failedAgain > 0,
      "a create failed although the rest of it could be written":
        fault === shortWrite && failed > 0,
    }),
  };
  return Object.entries(checks).flatMap(([what, isSo]) => (isSo ? [what] : []));
}

/** Until the store was opened again. */
function acknowledgedAfterFailedSync(calls: readonly Call[]): number {
  let hasFailed = false;
  let acknowledged = 0;
  for (const call of calls) {
    const { kind, path, result } = call;
    const isData = path.endsWith(".db") || path.endsWith("-wal");
    if (kind === "sync" && isData && result < 0) hasFailed = true;
    if (kind === "open" && path.endsWith(".db")) hasFailed = false;
    if (hasFailed) acknowledged += acknowledgedBy(call).length;
  }
  return acknowledged;
}
