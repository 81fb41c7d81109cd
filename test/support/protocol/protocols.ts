import { connectClients } from "./connect-clients.ts";
import { grpcJs } from "./grpc-js.ts";
import type { Protocol } from "./protocol.ts";
import { rawProtocols } from "./raw.ts";

/** All clients that the suite for all protocols runs with. */
export const protocols: readonly Protocol[] = [...rawProtocols, ...connectClients, grpcJs];

/** The name of a protocol in logs and metrics. */
export function labelOf(protocolName: string): string {
  if (protocolName.includes("gRPC-Web")) return "grpc-web";
  if (protocolName.includes("gRPC")) return "grpc";
  return protocolName.includes("Connect") ? "connect" : "rest";
}
