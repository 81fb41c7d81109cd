import type { CallConvention } from "./convention.ts";
import { connectStatusOf, grpcStatusOf, isServerError } from "./status-code.ts";

/** gRPC, gRPC-Web and Connect calls. */
export const rpcConvention: CallConvention = {
  describeRequest({ method, protocol }) {
    const system = protocol === "connect" ? "connectrpc" : "grpc";
    const called = method && `${method.parent.typeName}/${method.name}`;
    return {
      name: called ?? system,
      attributes: { "rpc.system.name": system, "rpc.method": called ?? "_OTHER" },
    };
  },

  describeEnding({ protocol }, { code }) {
    // Connect has no code for success.
    if (protocol === "connect" && code === undefined)
      return { attributes: {}, errorType: undefined };
    const status =
      protocol === "connect" && code !== undefined ? connectStatusOf(code) : grpcStatusOf(code);
    return {
      attributes: { "rpc.status_code": status },
      errorType: isServerError(code) ? status : undefined,
    };
  },
};
