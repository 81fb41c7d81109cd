import { openGrpcTransport } from "connect-gateway/client";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { NewPlant, NothingLeft } from "../plant.ts";

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
  /** A plant takes milliseconds; who has no answer by then asks again, which is safe. Default: 15 s. */
  readonly timeoutMs?: number;
  /** A server that says nothing is asked after that long, and has as long to answer. Default: 5 s. */
  readonly quietMsMax?: number;
}

export function createPlantCreator(options: PlantCreatorOptions): PlantCreator {
  const { url, token, ca, timeoutMs = 15_000, quietMsMax } = options;
  const transport = openGrpcTransport({
    url,
    tls: () => ({ ca }),
    userAgent: "plant-store-import",
    ...(quietMsMax !== undefined && { quietMsMax }),
  });
  const headers = { authorization: `Bearer ${token}` };
  return {
    async create({ id, name, tag, ...rest }) {
      rest satisfies NothingLeft;
      const plant = tag === undefined ? { id, name } : { id, name, tag };
      const { createPlant } = PlantService.method;
      await transport.unary(createPlant, undefined, timeoutMs, headers, { plant });
    },
    close: () => transport.close(),
  };
}
