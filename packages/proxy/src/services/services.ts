import type { DescService, Registry } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { assertOptions, type GrpcTransport, type OptionKindsOf } from "connect-gateway/client";
import type { Descriptors } from "./descriptors.ts";
import { createRequestMetadata, defaultRequestMetadata } from "./metadata.ts";
import { forwardMethod } from "./method.ts";

export interface ProxyOptions {
  readonly services: readonly DescService[];
  /** For the details of errors. */
  readonly registry: Registry;
  /** Calls the upstream: of `openGrpcTransport`. */
  readonly transport: GrpcTransport;
  /**
   * Names of request headers that the upstream gets, without regard to case. Those of a connection
   * or a protocol are refused. Where the gateway has `exposePeerAddress`, the upstream also gets
   * the caller's address as `x-forwarded-for`; list that name only if a proxy that you trust is in
   * front, whose addresses then stand before. Default: {@link defaultRequestMetadata}.
   */
  readonly requestMetadata?: readonly string[];
  /** Deadline of unary calls whose client sets none, in ms. Default: none. */
  readonly timeoutMs?: number;
  /** Told the name of a request header that was not passed on, as gRPC cannot carry its value. */
  readonly onDroppedMetadata?: (name: string) => void;
  /** Told when the upstream answers UNIMPLEMENTED: its services may be others by now. */
  readonly onUnimplemented?: () => void;
}

/** Descriptors may be given whole. */
const optionKinds: OptionKindsOf<ProxyOptions & Descriptors> = {
  services: "list",
  registry: "object",
  broken: "list",
  missing: "list",
  transport: "object",
  requestMetadata: "list",
  timeoutMs: "number",
  onDroppedMetadata: "function",
  onUnimplemented: "function",
};

/**
 * Serves services by calls to an upstream, for `routes` of a gateway. They may stand beside services
 * of your own, and behind the same gate, interceptors and observers.
 *
 * @throws {TypeError} for an unknown option, or a name of `requestMetadata` that cannot be passed on.
 */
export function proxyServices(options: ProxyOptions): (router: ConnectRouter) => void {
  assertOptions("proxyServices", options, optionKinds);
  const { services, requestMetadata = defaultRequestMetadata, onDroppedMetadata } = options;
  const metadataOf = createRequestMetadata(requestMetadata, onDroppedMetadata);
  const forwarding = { ...options, metadataOf };
  return (router) => {
    for (const service of services) {
      const methods = service.methods.map((method) => [
        method.localName,
        forwardMethod(method, forwarding),
      ]);
      router.service(service, Object.fromEntries(methods));
    }
  };
}
