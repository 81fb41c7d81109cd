import { constants } from "node:os";
import type { Call } from "../disk/call-log.ts";
import type { Fault } from "../disk/recording.ts";

/** How a call fails. */
export interface FaultKind extends Omit<Fault, "at"> {
  readonly name: string;
  /** The calls that can fail in this way. */
  readonly calls: readonly Call["kind"][];
  /** Whether the fault disappears after a failed create, while the store is open. */
  readonly passes: boolean;
}

const { EIO, ENOSPC, EMFILE, ENOMEM } = constants.errno;
const taking = ["write", "open", "truncate", "mkdir"] as const;
const any = [...taking, "sync", "unlink"] as const;
const plain = { short: false, passes: false } as const;

export const faultKinds: readonly FaultKind[] = [
  { ...plain, name: "EIO once", errno: EIO, scope: "once", calls: any },
  { ...plain, name: "EIO for good", errno: EIO, scope: "same", calls: any },
  { ...plain, name: "ENOSPC once", errno: ENOSPC, scope: "once", calls: taking },
  {
    name: "ENOSPC until there is room",
    errno: ENOSPC,
    scope: "space",
    short: false,
    passes: true,
    calls: taking,
  },
  {
    name: "a short write, then ENOSPC until there is room",
    errno: ENOSPC,
    scope: "space",
    short: true,
    passes: true,
    calls: ["write"],
  },
  // The rest can be written, so nothing has failed.
  { ...plain, name: "a short write", errno: ENOSPC, scope: "once", short: true, calls: ["write"] },
  { ...plain, name: "EMFILE once", errno: EMFILE, scope: "once", calls: ["open"] },
  { ...plain, name: "ENOMEM once", errno: ENOMEM, scope: "once", calls: ["map"] },
];
