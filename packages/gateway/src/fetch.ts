/** Any Connect service by fetch: gRPC-Web, Connect and REST. Nothing here needs Node. */

export { type CorsOptions, findHeaderProblem, findOriginProblem } from "./adapter/cors.ts";
export { type FetchGatewayOptions, gatewayFetchHandler } from "./adapter/fetch.ts";
export { peerAddressKey } from "./adapter/gateway.ts";
export {
  type CallEnding,
  type CallObservation,
  type CallObserver,
  composeObservers,
  type ObservedRequest,
} from "./adapter/observer.ts";
export { messageFromJson, parseJson } from "./codec/json-messages.ts";
export { type ExactJson, rawJson } from "./codec/json-text.ts";
export {
  type RenderError,
  type RenderedError,
  type RestError,
  RestFailure,
  renderProblem,
  renderStatus,
} from "./errors/http.ts";
export { addressKey } from "./http/address-key.ts";
export { BodyBudget } from "./http/body-budget.ts";
export { parseRequestTarget, type RequestTarget } from "./http/target.ts";
export type { RestOptions } from "./rest/options.ts";
export { RuleError } from "./rest/rule/rule.ts";
export type { StreamFormatName } from "./rest/stream/stream-format.ts";
export type { Cancellation, ProtocolName } from "./rpc/call.ts";
export { cancellationOf, holdHeaders, sendHeaders } from "./rpc/call.ts";
export { methodNameOf } from "./rpc/call-names.ts";
export type { MessageLimits } from "./rpc/endpoint.ts";
export { requireFields } from "./rpc/required-fields.ts";
