import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gatewayNodeAdapter } from "connect-gateway";
import { CatalogService } from "../../gen/library/v1/catalog_pb.ts";
import { createCatalog, tell } from "./catalog.ts";

const handler = gatewayNodeAdapter({
  routes: (router) => router.service(CatalogService, createCatalog()),
});
const server = createServer(handler);
server.listen(0, "127.0.0.1", () => {
  tell(`listening on ${(server.address() as AddressInfo).port}`);
});
