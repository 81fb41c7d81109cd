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

/** The longest delay before a change is reported. Stores and threads have no event for it. */
const intervalMs = 250;

/** Resolves when the readiness differs from `seen`, or when the server drains, or the signal aborts. */
export function readinessChange(
  { isReady, draining }: Required<Readiness>,
  seen: boolean,
  signal: AbortSignal,
): Promise<void> {
  const signals = [draining, signal];
  return new Promise((resolve) => {
    const end = () => {
      clearInterval(timer);
      for (const one of signals) one.removeEventListener("abort", end);
      resolve();
    };
    const timer = setInterval(() => isReady() !== seen && end(), intervalMs).unref();
    for (const one of signals) one.addEventListener("abort", end);
    if (signals.some(({ aborted }) => aborted) || isReady() !== seen) end();
  });
}
