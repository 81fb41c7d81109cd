import { createLocalJWKSet } from "jose";
import { fetchVerificationKeys } from "./jwks-fetch.ts";
import type { ReportProblem } from "./problem.ts";

/** Finds the key for a token's header. Called by jose. */
export type KeyResolver = ReturnType<typeof createLocalJWKSet>;

/**
 * The keys of an issuer, fetched and refreshed. jose's createRemoteJWKSet stops verifying if its
 * keys are older than a few minutes and the endpoint is down. This one keeps the last good keys
 * during an outage.
 */
export interface KeySet {
  /**
   * Returns the keys. Waits for the first fetch if it is running. `undefined`: there are no keys
   * yet.
   */
  current(): Promise<KeyResolver | undefined>;
  /**
   * For a token whose key is not among the known ones: returns newer keys, after another fetch if
   * necessary, or `undefined` if there are none. Fetches at most once in 30 s, however many tokens
   * strangers send.
   */
  newerThan(known: KeyResolver): Promise<KeyResolver | undefined>;
  close(): void;
}

export interface KeySetOptions {
  readonly url: URL;
  readonly report: ReportProblem;
  readonly times?: Partial<KeySetTimes>;
  /** A monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

export interface KeySetTimes {
  /** The timeout of a whole fetch. Default: 5 s. */
  readonly timeoutMs: number;
  /**
   * The time from one successful fetch to the next, for which a removed key stays valid. Default:
   * 10 min.
   */
  readonly refreshMs: number;
  /**
   * The time from a failed fetch to the next. Doubles with each failure, up to `retryMsMax`.
   * Default: 1 s.
   */
  readonly retryMs: number;
  /** Default: 30 s. */
  readonly retryMsMax: number;
  /** The time from any fetch to one that a token triggers. Default: 30 s. */
  readonly cooldownMs: number;
  /**
   * How long keys are used after their last successful fetch. Without a limit, an attacker who can
   * block the endpoint could keep a stolen key valid forever. After an issuer was down for a day,
   * hardly any of its tokens is still valid. Default: 24 h.
   */
  readonly outageMsMax: number;
}

const defaultTimes: KeySetTimes = {
  timeoutMs: 5_000,
  refreshMs: 10 * 60_000,
  retryMs: 1_000,
  retryMsMax: 30_000,
  cooldownMs: 30_000,
  outageMsMax: 24 * 60 * 60_000,
};

/**
 * The most calls that wait for one fetch. Further calls are decided at once, with the keys at hand.
 */
const waitingMax = 100;

/** The most rejected keys that are ever reported, because an issuer might rename them each time. */
const toldMax = 100;

/** Starts the first fetch without waiting for it. The timers do not keep the process alive. */
export function openKeySet(options: KeySetOptions): KeySet {
  const { url, report, now = () => performance.now() } = options;
  const times = { ...defaultTimes, ...options.times };
  const endpoint = url.origin + url.pathname;
  const closing = new AbortController();
  let keys: { readonly resolve: KeyResolver; readonly asOf: number } | undefined;
  let fetching: Promise<void> | undefined;
  let lastFetchAt = Number.NEGATIVE_INFINITY;
  /** Rejected keys that were already reported, so that they are not reported with every fetch. */
  const told = new Set<string>();
  let failures = 0;
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;

  startFetch();
  return {
    async current() {
      const known = usable();
      if (known !== undefined || fetching === undefined) return known;
      await waitFor(fetching);
      return usable();
    },
    async newerThan(known) {
      if (usable() === known) {
        if (fetching === undefined && now() - lastFetchAt >= times.cooldownMs) startFetch();
        if (fetching !== undefined) await waitFor(fetching);
      }
      const latest = usable();
      return latest === known ? undefined : latest;
    },
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };

  function usable(): KeyResolver | undefined {
    return keys !== undefined && now() - keys.asOf <= times.outageMsMax ? keys.resolve : undefined;
  }

  async function waitFor(fetch: Promise<void>): Promise<void> {
    if (waiting >= waitingMax) return;
    waiting++;
    await fetch;
    waiting--;
  }

  function startFetch(): void {
    if (closing.signal.aborted) return;
    clearTimeout(timer);
    lastFetchAt = now();
    fetching = fetchOnce().then((delayMs) => {
      fetching = undefined;
      timer = setTimeout(startFetch, delayMs).unref();
    });
  }

  /** Never rejects. Returns when to fetch again. */
  async function fetchOnce(): Promise<number> {
    const asOf = lastFetchAt;
    try {
      const { timeoutMs } = times;
      const { signal } = closing;
      const fetched = await fetchVerificationKeys({ url, timeoutMs, signal, onRefused });
      keys = { resolve: createLocalJWKSet({ keys: fetched }), asOf };
      failures = 0;
      return times.refreshMs;
    } catch (error) {
      const delayMs = Math.min(times.retryMs * 2 ** failures++, times.retryMsMax);
      if (!closing.signal.aborted) report(problemOf(error), error);
      return delayMs;
    }
  }

  function onRefused(problem: string): void {
    if (told.has(problem) || told.size >= toldMax) return;
    told.add(problem);
    report(`the key set ${endpoint}: ${problem}; it is not used`);
  }

  function problemOf(error: unknown): string {
    const effect = usable() ? "the last good keys stay in use" : "no JWT can be verified";
    return `the key set ${endpoint} cannot be fetched: ${reasonOf(error)}; ${effect}`;
  }
}

/** fetch reports the reason only in the cause of its error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
