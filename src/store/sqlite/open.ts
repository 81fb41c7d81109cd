import type { PlantStore } from "../../plant.ts";
import { BatchedStore } from "../batched-store.ts";
import type { StoreOptions } from "../options.ts";
import { busyTimeoutMs as defaultBusyTimeoutMs } from "./files.ts";
import { SqliteThread } from "./thread.ts";

/**
 * @param path Absolute.
 * @param busyTimeoutMs How long a commit waits for other processes' locks.
 * @throws {StoreOpenError}
 */
export async function openSqlite(
  path: string,
  options: StoreOptions,
  busyTimeoutMs = defaultBusyTimeoutMs,
): Promise<PlantStore> {
  const thread = await SqliteThread.open(path, busyTimeoutMs, options);
  return new BatchedStore(thread, options);
}
