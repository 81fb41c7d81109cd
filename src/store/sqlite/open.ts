import type { PlantStore } from "../../plant.ts";
import { BatchedStore } from "../batched-store.ts";
import { resolveLimits, type StoreOptions } from "../options.ts";
import type { JoinOptions, SharedStore } from "../shared-store.ts";
import { WriteWatch } from "../write-watch.ts";
import { busyTimeoutMs as defaultBusyTimeoutMs, parsePath } from "./location.ts";
import type { QueueEnd } from "./queue/messages.ts";
import { QueuedCommits } from "./queue/queued-commits.ts";
import { SqliteThread } from "./thread.ts";

/**
 * @param location A path, absolute or relative to the working directory.
 * @param busyTimeoutMs How long a commit waits for other processes' locks.
 * @throws {StoreOpenError}
 */
export async function openSqlite(
  location: string,
  options: StoreOptions,
  busyTimeoutMs = defaultBusyTimeoutMs,
): Promise<PlantStore> {
  const { thread, watch } = await openThread(location, options, busyTimeoutMs);
  return joinSqlite(thread.openQueue(), {
    ...options,
    obstacle: () => watch.obstacle(),
    onStop: () => watch.stop(),
    onClose: () => watch.close(),
  });
}

/** @throws {StoreOpenError} */
export async function openSharedSqlite(
  location: string,
  options: StoreOptions,
): Promise<SharedStore> {
  const { thread, watch } = await openThread(location, options, defaultBusyTimeoutMs);
  return {
    openEnd: () => thread.openQueue(),
    releaseEnd: (end) => thread.releaseQueue(end),
    async close() {
      await watch.stop();
      await watch.close();
    },
  };
}

/** Uses a database that another thread has open. */
export function joinSqlite(
  end: QueueEnd,
  { obstacle, limits, observer, onStop, onClose }: JoinOptions,
): PlantStore {
  const commits = new QueuedCommits(end, resolveLimits(limits), observer);
  return new BatchedStore(commits, {
    obstacle,
    async stop() {
      await onStop?.();
    },
    async close() {
      commits.close();
      await onClose?.();
    },
  });
}

/** @throws {StoreOpenError} */
export async function migrateSqlite(location: string): Promise<void> {
  await (await openSqlite(location, {})).close();
}

async function openThread(
  location: string,
  { limits, onFailure, onObstacle }: StoreOptions,
  busyTimeoutMs: number,
) {
  const path = parsePath(location);
  const thread = await SqliteThread.open({ path, busyTimeoutMs, limits: resolveLimits(limits) });
  const watch = new WriteWatch(thread, onObstacle);
  thread.listen({
    commitFailed: (error) => watch.commitFailed(error),
    commitSucceeded: () => watch.commitSucceeded(),
    failed: (error) => onFailure?.(error),
  });
  return { thread, watch };
}
