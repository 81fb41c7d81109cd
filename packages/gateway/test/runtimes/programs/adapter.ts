/** The adapter on one of Node's servers: `adapter.ts http|http2|tls [CERT KEY]`. */
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { gatewayNodeAdapter } from "connect-gateway";
import { CatalogService } from "../../gen/library/v1/catalog_pb.ts";
import { createCatalog, tell } from "./catalog.ts";

const [, , kind, certFile = "", keyFile = ""] = process.argv;
const handler = gatewayNodeAdapter({
  routes: (router) => router.service(CatalogService, createCatalog()),
});

function createServer() {
  if (kind === "http") return http.createServer(handler);
  if (kind === "http2") return http2.createServer(handler);
  const certificate = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
  return http2.createSecureServer({ ...certificate, allowHTTP1: true }, handler);
}

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  tell(`listening on ${(server.address() as AddressInfo).port}`);
});
