/** Any Connect service on one Node handler: gRPC, gRPC-Web, Connect and REST. */
export { requireFields } from "./field-behavior.ts";
export { type GatewayOptions, gatewayNodeAdapter, type NodeHandler } from "./node-adapter.ts";
export type { RenderedError, RestError } from "./rest/error.ts";
export type { RestOptions } from "./rest/handler.ts";
export { RuleError } from "./rest/rule.ts";
