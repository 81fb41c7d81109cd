import type { PlantStore } from "../../plant.ts";
import { BatchedStore } from "../batched-store.ts";
import { resolveLimits, type StoreOptions } from "../options.ts";
import { WriteWatch } from "../write-watch.ts";
import { busyTimeoutMs as defaultBusyTimeoutMs, parsePath } from "./location.ts";
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
  const { limits, observer, onFailure, onObstacle } = options;
  const path = parsePath(location);
  const thread = await SqliteThread.open({ path, busyTimeoutMs, limits: resolveLimits(limits) });
  const watch = new WriteWatch(thread, onObstacle);
  thread.listen({
    commitFailed: (error) => watch.commitFailed(error),
    commitSucceeded: () => watch.commitSucceeded(),
    failed: (error) => onFailure?.(error),
  });
  const commits = new QueuedCommits(thread.openQueue(), resolveLimits(limits), observer);
  return new BatchedStore(commits, {
    obstacle: () => watch.obstacle(),
    stop: () => watch.stop(),
    async close() {
      commits.close();
      await watch.close();
    },
  });
}

/** @throws {StoreOpenError} */
export async function migrateSqlite(location: string): Promise<void> {
  await (await openSqlite(location, {})).close();
}
