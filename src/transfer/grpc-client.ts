import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import { bearerToken } from "../auth/client-token.ts";
import type { NewPlant } from "../plant.ts";

/** Creates plants on a server, over one connection of gRPC. */
export interface PlantCreator {
  /** @throws {ConnectError} */
  create(plant: NewPlant): Promise<void>;
  /** Ends the connection, and calls that are under way with it: a signal for each call costs more. */
  close(): void;
}

export interface PlantCreatorOptions {
  /** `http://` speaks HTTP/2 at once, `https://` TLS. It may have a path. */
  readonly url: string;
  readonly token: string;
  /** Certificates in PEM to trust, in place of Node's. */
  readonly ca?: string | undefined;
}

/** A plant takes milliseconds; who has no answer by then asks again, which is safe. */
const callTimeoutMs = 15_000;
/** A connection that lost its network says nothing: it is asked. */
const ping = { pingIntervalMs: 5000, pingTimeoutMs: 5000 } as const;

export function createPlantCreator({ url, token, ca }: PlantCreatorOptions): PlantCreator {
  const sessionManager = new Http2SessionManager(url, ping, ca === undefined ? {} : { ca });
  const transport = createGrpcTransport({
    baseUrl: url,
    sessionManager,
    interceptors: [bearerToken(token)],
    defaultTimeoutMs: callTimeoutMs,
  });
  const client = createClient(PlantService, transport);
  return {
    async create({ id, name, tag }) {
      const plant = tag === undefined ? { id, name } : { id, name, tag };
      await client.createPlant({ plant });
    },
    close: () => sessionManager.abort(),
  };
}
