import { drainingSignal } from "../call/draining.ts";

/** What health goes by. */
export interface Readiness {
  /**
   * Whether a request that comes now would be served. Default: it would. If it throws, the server is
   * not ready: it is also asked by a timer, where an error would end the process.
   */
  readonly isReady?: () => boolean;
  /** Aborts when the server begins to drain: it is not ready from then on. Default: never. */
  readonly draining?: AbortSignal;
}

/** The readiness with its defaults. */
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
