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

/** Who hears of what goes on in a service. */
export interface ServiceHooks {
  readonly onFailure: (error: Error) => void;
  readonly metrics: ServiceMetrics | undefined;
}

/**
 * Serves with several threads, as one service. This thread serves nothing: it
 * has what exists once (a store with one writer, the log), and watches over the
 * others. Whatever can be wrong from the start is found here, before they start.
 *
 * @param options What the settings were made of.
 * @param hooks `onFailure` is called when the store or the threads fail for good.
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
    // A thread that is not there says nothing; the others go on.
    void thread.ended.then(() => {
      if (end !== undefined) store?.releaseEnd(end);
      readiness.set(number, undefined);
      metrics?.threadEnded(number);
    });
    return thread;
  }
}

/** What no thread can get over; a thread would tell it less well. */
async function assertUsable({ auth, tls }: ServerSettings): Promise<void> {
  if (auth.tokenFile !== undefined) await listTokens(auth.tokenFile);
  if (tls !== undefined) assertTlsFiles(tls);
}

/** @returns the store that all threads use; undefined if each opens one of its own. */
async function openOnce(
  { store: url }: ServerSettings,
  options: StoreOptions,
): Promise<SharedStore | undefined> {
  const shared = await openSharedStore(url, options);
  if (shared === undefined) await (await openStore(url)).close();
  return shared;
}

/**
 * Who shares a port shares it with any other process of the same user, and both
 * get half of the connections: only who does not share is told that it is in use.
 */
async function assertPortFree({ host, port }: ServerSettings): Promise<void> {
  const server = createServer().listen({ host, port });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/** The parts of all threads together are the whole. */
function partOf(whole: number, number: number, threads: number): number {
  return Math.floor(whole / threads) + (number <= whole % threads ? 1 : 0);
}
