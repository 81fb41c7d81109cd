/** A client of gRPC on `node:http2`, for `createClient` of Connect. */
export { passers, passesOn } from "../codec/passed.ts";
export { assertWireFormat } from "../codec/wire-format.ts";
export { isOfConnection, LazyHeaders, type NodeHeaders, toNodeHeaders } from "../http/headers.ts";
export { blindInterceptor } from "../rpc/blind.ts";
export { type Cancellation, takesBytes } from "../rpc/call.ts";
export { assertOptions, optionKinds } from "../rpc/options.ts";
export { AnswerError } from "./answer.ts";
export { type ClientTls, socketError } from "./guarded-socket.ts";
export { GrpcTransport, type GrpcTransportOptions, openGrpcTransport } from "./transport.ts";
