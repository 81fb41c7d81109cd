import type { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { ProtocolName } from "connect-gateway";
import { codeNameOf, methodNameOf } from "../call-names.ts";
import { describeConnection, isServerError, type SpanConvention } from "./span-convention.ts";

/** Calls of gRPC, gRPC-Web and Connect. */
export const rpcConvention: SpanConvention = {
  describeRequest(request) {
    const { method, protocol } = request;
    const system = systemOf(protocol);
    const called = method && methodNameOf(method);
    return {
      name: called ?? system,
      attributes: {
        "rpc.system.name": system,
        "rpc.method": called ?? "_OTHER",
        ...describeConnection(request),
      },
    };
  },

  describeEnding({ protocol }, { code }) {
    const status = statusOf(protocol, code);
    return {
      attributes: status === undefined ? {} : { "rpc.status_code": status },
      errorType: isServerError(code) ? status : undefined,
    };
  },
};

function systemOf(protocol: ProtocolName): string {
  return protocol === "connect" ? "connectrpc" : "grpc";
}

/** As each protocol writes it; Connect has none for success. */
function statusOf(protocol: ProtocolName, code: Code | undefined): string | undefined {
  if (protocol !== "connect") return codeNameOf(code);
  return code === undefined ? undefined : codeToString(code);
}
