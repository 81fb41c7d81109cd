import { connectClients } from "./connect-clients.ts";
import { grpcJs } from "./grpc-js.ts";
import type { Protocol } from "./protocol.ts";
import { rawProtocols } from "./raw.ts";

/** All clients that the suite for all protocols runs with. */
export const protocols: readonly Protocol[] = [...rawProtocols, ...connectClients, grpcJs];
