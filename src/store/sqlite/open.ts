import type { PlantStore } from "../../plant.ts";
import { BatchedStore } from "../batched-store.ts";
import { resolveLimits, type StoreOptions } from "../options.ts";
import { busyTimeoutMs, parsePath } from "./location.ts";
import { SqliteThread } from "./thread.ts";

/**
 * @param location A path, absolute or relative to the working directory.
 * @throws {StoreOpenError}
 */
export async function openSqlite(location: string, options: StoreOptions): Promise<PlantStore> {
  const path = parsePath(location);
  const thread = await SqliteThread.open({ path, busyTimeoutMs }, (error) =>
    options.onFailure?.(error),
  );
  return new BatchedStore(thread, resolveLimits(options.limits), options);
}

/** @throws {StoreOpenError} */
export async function migrateSqlite(location: string): Promise<void> {
  await (await openSqlite(location, {})).close();
}
