import { connectClients } from "./connect-clients.ts";
import { grpcJs } from "./grpc-js.ts";
import type { Protocol } from "./protocol.ts";
import { rawProtocols } from "./raw.ts";

/** Every way into the service that the suite for all protocols runs over. */
export const protocols: readonly Protocol[] = [...rawProtocols, ...connectClients, grpcJs];
