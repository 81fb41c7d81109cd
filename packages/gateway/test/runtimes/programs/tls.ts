import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { gatewayNodeAdapter } from "connect-gateway";
import { CatalogService } from "../../gen/library/v1/catalog_pb.ts";
import { createCatalog, tell } from "./catalog.ts";

const [, , certFile = "", keyFile = ""] = process.argv;
const handler = gatewayNodeAdapter({
  routes: (router) => router.service(CatalogService, createCatalog()),
});
const certificate = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
const server = createSecureServer({ ...certificate, allowHTTP1: true }, handler);
server.listen(0, "127.0.0.1", () => {
  tell(`listening on ${(server.address() as AddressInfo).port}`);
});
