/** connect-gateway as a process of its own before a gRPC server: `proxy.ts URL`. */
import { readFileSync } from "node:fs";
import { openGrpcTransport } from "connect-gateway/client";
import { serve } from "connect-gateway/server";
import { proxyServices, readDescriptors } from "connect-gateway-proxy";
import { announceUrl } from "./announce.ts";

const descriptors = readDescriptors(
  readFileSync(new URL("../../gen/plantstore.binpb", import.meta.url)),
);
const transport = openGrpcTransport({ url: process.argv[2] ?? "" });
const { address } = await serve({
  host: "127.0.0.1",
  port: 0,
  routes: proxyServices({ ...descriptors, transport }),
  jsonOptions: { registry: descriptors.registry },
});
announceUrl(`http://127.0.0.1:${address.port}`);
