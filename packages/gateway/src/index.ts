/** Any Connect service on one Node handler: gRPC, gRPC-Web, Connect and REST. Also by fetch. */

export { type GatewayHandler, type GatewayOptions, gatewayNodeAdapter } from "./adapter/node.ts";
export * from "./fetch.ts";
export type { NodeHandler } from "./http/request-exchange.ts";
export { compressionGzip } from "./rpc/compression.ts";
