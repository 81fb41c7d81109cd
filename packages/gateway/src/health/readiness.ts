/** What health goes by. */
export interface Readiness {
  /** Whether a request that comes now would be served. Default: it would. */
  readonly isReady?: () => boolean;
  /** Aborts when the server begins to drain: it is not ready from then on. Default: never. */
  readonly draining?: AbortSignal;
}

/** The readiness with its defaults. */
export function resolveReadiness({ isReady, draining }: Readiness): Required<Readiness> {
  const signal = draining ?? new AbortController().signal;
  return { isReady: () => !signal.aborted && isReady?.() !== false, draining: signal };
}
