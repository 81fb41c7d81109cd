import type { PlantStore } from "../../plant.ts";
import { BatchedStore } from "../batched-store.ts";
import type { StoreOptions } from "../options.ts";
import { busyTimeoutMs as defaultBusyTimeoutMs } from "./files.ts";
import { parsePath } from "./location.ts";
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
  const thread = await SqliteThread.open(parsePath(location), busyTimeoutMs, options);
  return new BatchedStore(thread, options);
}
