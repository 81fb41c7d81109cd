import type { ServiceImpl } from "@connectrpc/connect";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { exchange } from "./exchange.ts";
import {
  openGateway,
  type SentRequest,
  type TestGateway,
  type TestGatewayOptions,
} from "./gateway.ts";

export { CatalogService };

export type Catalog = Partial<ServiceImpl<typeof CatalogService>>;

/** A catalog of which only these methods are of interest. */
export function openShelves(catalog: Catalog, options: Partial<TestGatewayOptions> = {}) {
  return openGateway({ routes: (router) => router.service(CatalogService, catalog), ...options });
}

/** The answer of such a catalog to one request. */
export async function askCatalog(
  catalog: Catalog,
  request: SentRequest,
  options: Partial<TestGatewayOptions> = {},
) {
  await using gateway = await openShelves(catalog, options);
  return await gateway.send(request);
}

export const json = { "content-type": "application/json" };
export const big = "9007199254740993";

export const walden = { name: "shelves/a/volumes/1", id: "1", title: "Walden" };
export const emma = { name: `shelves/a/volumes/${big}`, id: big, title: "Emma" };
export const ulysses = { name: "shelves/b/volumes/3", id: "3", title: "Ulysses" };

/** A catalog with three volumes on two shelves. */
export async function openCatalog(options: Partial<TestGatewayOptions> = {}): Promise<TestGateway> {
  return await fillCatalog(await openShelves(createCatalog(), options), options.requestPathPrefix);
}

/** The same at an origin, where each test finds it as at the first. */
export async function openRemoteCatalog(origin: string): Promise<TestGateway> {
  const send: TestGateway["send"] = ({ version = "1.1", ...request }) =>
    exchange({ origin, version, ...request });
  const remote: TestGateway = {
    ...{ port: Number(new URL(origin).port), errors: [], origin: () => origin, send },
    async [Symbol.asyncDispose]() {},
  };
  for (const shelf of ["a", "b", "c", "z"]) {
    const { body } = await send(get(`/v1/shelves/${shelf}/volumes`));
    const { volumes = [] }: { volumes?: { name: string }[] } = JSON.parse(body.toString());
    for (const { name } of volumes) await send({ method: "DELETE", path: `/v1/${name}` });
  }
  return await fillCatalog(remote);
}

/** Creates the volumes of {@link openCatalog}. */
export async function fillCatalog(gateway: TestGateway, prefix = ""): Promise<TestGateway> {
  for (const { name, id, title } of [walden, emma, ulysses]) {
    const path = `${prefix}/v1/${name.replace(/\/\d+$/, "")}`;
    await gateway.send({ path, headers: json, body: JSON.stringify({ id, title }) });
  }
  return gateway;
}

export const get = (path: string): SentRequest => ({ method: "GET", path });
export const send = (method: string, path: string, body: unknown): SentRequest => ({
  method,
  path,
  headers: json,
  body: typeof body === "string" ? body : JSON.stringify(body),
});

export const versions = ["1.1", "2"] as const;
