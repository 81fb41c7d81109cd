/** What works on a store, by the URL that an operator would give. */
import { parseStoreUrl } from "../../src/server/store-url.ts";
import * as copying from "../../src/store/copy.ts";
import * as stores from "../../src/store/open.ts";
import type { StoreOptions } from "../../src/store/options.ts";

export const openStore = async (url: string, options?: StoreOptions) =>
  await stores.openStore(parseStoreUrl(url), options);

export const openPlantReader = async (url: string) =>
  await stores.openPlantReader(parseStoreUrl(url));

export const readSchemaState = async (url: string) =>
  await stores.readSchemaState(parseStoreUrl(url));

export const migrateStore = async (url: string) => await stores.migrateStore(parseStoreUrl(url));

export const checkStore = (url: string) => stores.checkStore(parseStoreUrl(url));

export const copyPlants = (
  { from, to }: Readonly<Record<"from" | "to", string>>,
  onProgress: copying.OnCopyProgress,
) => copying.copyPlants({ from: parseStoreUrl(from), to: parseStoreUrl(to) }, onProgress);
