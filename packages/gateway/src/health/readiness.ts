import type { OptionKindsOf } from "../rpc/options.ts";
import { drainingSignal } from "../rpc/own-services.ts";

/** What determines the health of a server. */
export interface Readiness {
  /**
   * Whether a request would be served now. Default: yes. If it throws, the server is not ready: it
   * is also called by a timer, where an error would end the process.
   */
  readonly isReady?: () => boolean;
  /** Aborts when the server begins to drain. From then on, it is not ready. Default: never. */
  readonly draining?: AbortSignal;
}

export const readinessKinds: OptionKindsOf<Readiness> = { isReady: "function", draining: "object" };

/** Fills in the defaults. */
export function resolveReadiness({ isReady, draining }: Readiness): Required<Readiness> {
  const signal = drainingSignal(draining);
  return { isReady: () => !signal.aborted && saysReady(isReady), draining: signal };
}

function saysReady(isReady: Readiness["isReady"]): boolean {
  try {
    return isReady?.() !== false;
  } catch {
    return false;
  }
}
