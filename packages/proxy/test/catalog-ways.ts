/** The ways to a catalog, each opened once for a group of tests, and filled again for each. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { createCatalog } from "../../gateway/test/catalog-server.ts";
import { type Volume, VolumeSchema } from "../../gateway/test/gen/library/v1/catalog_pb.ts";
import {
  CatalogService,
  emma,
  openRemoteCatalog,
  openShelves,
  ulysses,
  walden,
} from "../../gateway/test/support/catalog.ts";
import type { TestGateway, TestGatewayOptions } from "../../gateway/test/support/gateway.ts";
import { openProxyOf } from "./services/open-proxy.ts";

/** Where `npm run test:upstreams` has commands before a server in another language. */
const origins = new Map<string, string>(JSON.parse(process.env["CATALOG_ORIGINS"] ?? "[]"));

export const ways: readonly string[] =
  origins.size === 0 ? ["in process", "through a proxy"] : [...origins.keys()];

export function useCatalog(
  how: string,
  options: Partial<TestGatewayOptions> = {},
): { readonly current: TestGateway } {
  const opened = {} as { current: TestGateway };
  const volumes = new Map<string, Volume>();
  const catalog = createCatalog(volumes);
  const origin = origins.get(how);
  beforeAll(async () => {
    if (origin !== undefined) opened.current = await openRemoteCatalog(origin);
    if (how === "in process") opened.current = await openShelves(catalog, options);
    if (how === "through a proxy")
      opened.current = await openProxyOf((it) => it.service(CatalogService, catalog), options);
  });
  beforeEach(async () => {
    if (origin !== undefined) await openRemoteCatalog(origin);
    volumes.clear();
    for (const { name, id, title } of [walden, emma, ulysses])
      volumes.set(name, create(VolumeSchema, { name, id: BigInt(id), title }));
  });
  afterAll(() => opened.current[Symbol.asyncDispose]());
  return opened;
}
