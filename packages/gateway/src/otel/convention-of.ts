import type { ProtocolName } from "../adapter/observer.ts";
import type { CallConvention } from "./convention.ts";
import { httpConvention } from "./http-convention.ts";
import { rpcConvention } from "./rpc-convention.ts";

export function conventionOf(protocol: ProtocolName): CallConvention {
  return isHttp(protocol) ? httpConvention : rpcConvention;
}

/** Whether its calls are requests of HTTP first. */
export function isHttp(protocol: ProtocolName): boolean {
  return protocol === "rest" || protocol === "mcp";
}
