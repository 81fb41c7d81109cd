/** Any Connect service on one Node handler: gRPC, gRPC-Web, Connect and REST. */
export { cancellationOf } from "./call-context.ts";
export type { Cancellation } from "./call-signal.ts";
export type { CorsOptions } from "./cors.ts";
export { leaveRequest } from "./exchange/stream-exchange.ts";
export { requireFields } from "./field-behavior.ts";
export { compressionGzip } from "./gzip.ts";
export { type GatewayHandler, type GatewayOptions, gatewayNodeAdapter } from "./node-adapter.ts";
export type { NodeHandler } from "./node-handler.ts";
export type {
  CallEnding,
  CallObservation,
  CallObserver,
  ObservedRequest,
  ProtocolName,
} from "./observer.ts";
export { composeObservers } from "./observers.ts";
export { createOpenApiDocument, type OpenApiOptions } from "./openapi/document.ts";
export { peerAddressKey } from "./peer-address.ts";
export { parseRequestTarget } from "./request-target.ts";
export type { RenderedError, RestError } from "./rest/error.ts";
export type { RestOptions } from "./rest/options.ts";
export { RuleError } from "./rest/rule.ts";
