import type { ProtocolName } from "../adapter/observer.ts";
import type { CallConvention } from "./convention.ts";
import { httpConvention } from "./http-convention.ts";
import { rpcConvention } from "./rpc-convention.ts";

export function conventionOf(protocol: ProtocolName): CallConvention {
  return protocol === "rest" ? httpConvention : rpcConvention;
}
