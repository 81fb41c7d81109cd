import { once } from "node:events";
import { createServer } from "node:net";
import type { ServiceMetrics } from "connect-gateway/metrics";
import { listTokens } from "../../auth/token-file.ts";
import { openSharedStore, openStore } from "../../store/open.ts";
import type { StoreOptions } from "../../store/options.ts";
import type { SharedStore } from "../../store/shared-store.ts";
import { reportObstacles } from "../obstacles.ts";
import { createRateLimitMemories } from "../rate-limit/rate-limits.ts";
import type { Serving } from "../serve.ts";
import type { ServerOptions, ServerSettings } from "../settings/settings.ts";
import { assertTlsFiles } from "../settings/tls-files.ts";
import { mainPart, Readiness } from "./readiness.ts";
import { shareLog } from "./shared-log.ts";
import { superviseThreads } from "./supervision.ts";
import { type ServingThread, startServingThread } from "./thread.ts";

/** Callbacks of a service. */
export interface ServiceHooks {
  readonly onFailure: (error: Error) => void;
  readonly metrics: ServiceMetrics | undefined;
}

/**
 * Serves with several threads, as one service. This thread serves no requests. It has what exists
 * once (a store with one writer, the log) and supervises the other threads. Invalid settings are
 * found here, before they start.
 *
 * @param options The options that the settings come from.
 * @param hooks `onFailure` is called when the store or the threads fail permanently.
 * @throws as `startServer`. Nothing is left open then.
 */
export async function serveWithThreads(
  settings: ServerSettings,
  options: ServerOptions,
  { onFailure, metrics }: ServiceHooks,
): Promise<Serving> {
  const readiness = Readiness.create(settings.threads);
  const rateLimits = createRateLimitMemories(settings);
  const logOf = shareLog(settings.log);
  await assertUsable(settings);
  const report = reportObstacles(settings.log);
  let isClosing = false;
  const store = await openOnce(settings, {
    onFailure(error) {
      readiness.set(mainPart, "failed");
      onFailure(error);
    },
    onObstacle(obstacle, cause) {
      if (!isClosing) readiness.set(mainPart, obstacle);
      report(obstacle, cause);
    },
  });
  try {
    await assertPortFree(settings);
    const supervision = await superviseThreads({
      count: settings.threads,
      port: settings.port,
      start: startThread,
      log: settings.log,
      onFailure,
    });
    return {
      port: supervision.port,
      isReady: () => readiness.obstacle() === undefined,
      async close() {
        isClosing = true;
        readiness.set(mainPart, "closed");
        await supervision.drain();
        await store?.close();
      },
    };
  } catch (error) {
    await store?.close();
    throw error;
  }

  function startThread(number: number, port: number): ServingThread {
    const { log: _, port: __, threads: ___, ...crossing } = options;
    const { threads, limits } = settings;
    const end = store?.openEnd();
    const setup = {
      options: crossing,
      number,
      threads,
      port,
      connectionsMax: partOf(limits.connectionsMax, number, threads),
      connectionsPerAddressMax: Math.ceil(limits.connectionsPerAddressMax / threads),
      readiness: readiness.memory,
      metrics: metrics?.memoryOf(number),
      rateLimits,
      store: end,
    };
    const thread = startServingThread(setup, logOf(number));
    // A dead thread reports no obstacle; the others continue.
    void thread.ended.then(() => {
      if (end !== undefined) store?.releaseEnd(end);
      readiness.set(number, undefined);
      metrics?.threadEnded(number);
    });
    return thread;
  }
}

/** Checks what would fail in every thread, for a better error message. */
async function assertUsable({ auth, tls }: ServerSettings): Promise<void> {
  if (auth.tokenFile !== undefined) await listTokens(auth.tokenFile);
  if (tls !== undefined) assertTlsFiles(tls);
}

/** @returns the store that all threads use; undefined if each opens its own. */
async function openOnce(
  { store: url }: ServerSettings,
  options: StoreOptions,
): Promise<SharedStore | undefined> {
  const shared = await openSharedStore(url, options);
  if (shared === undefined) await (await openStore(url)).close();
  return shared;
}

/**
 * With a shared port, another process of the same user could take half of the connections unnoticed.
 * Only a listener without sharing fails if the port is in use.
 */
async function assertPortFree({ host, port }: ServerSettings): Promise<void> {
  const server = createServer().listen({ host, port });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/** Splits a limit, so that the parts of all threads add up to the whole. */
function partOf(whole: number, number: number, threads: number): number {
  return Math.floor(whole / threads) + (number <= whole % threads ? 1 : 0);
}
