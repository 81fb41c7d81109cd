/** A proxy as a process of its own: `node packages/gateway/test/proxy/proxy-process.ts URL`. */
import { setDefaultHighWaterMark } from "node:stream";
import { openGrpcTransport } from "connect-gateway/client";
import { serve } from "connect-gateway/server";
import { proxyServices } from "../../src/services/index.ts";
import { descriptors } from "./open-proxy.ts";

// As the command.
setDefaultHighWaterMark(false, 16 * 1024);
const transport = openGrpcTransport({ url: process.argv[2] ?? "" });
const { address } = await serve({
  host: "127.0.0.1",
  port: 0,
  routes: proxyServices({ ...descriptors, transport }),
  jsonOptions: { registry: descriptors.registry },
  limits: { connectionsMax: 20_000 },
  handlers: () =>
    new Map([["/rss", (_request, response) => void response.end(`${process.memoryUsage.rss()}`)]]),
});
process.stdout.write(`listening on ${address.port}\n`);
