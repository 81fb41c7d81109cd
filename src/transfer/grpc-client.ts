import type { MessageInitShape } from "@bufbuild/protobuf";
import { openGrpcTransport } from "connect-gateway/client";
import { type NewPlantSchema, PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { NewPlant } from "../plant.ts";

export interface PlantCreator {
  /** @throws {ConnectError} */
  create(plant: NewPlant): Promise<void>;
  /** Closes the connection and its calls. This is cheaper than a signal for each call. */
  close(): void;
}

export interface PlantCreatorOptions {
  /** `http://` uses HTTP/2 with prior knowledge, `https://` TLS. May have a path. */
  readonly url: string;
  readonly token: string;
  /** PEM certificates to trust instead of Node's. */
  readonly ca?: string | undefined;
  /** Timeout of a call, which may be retried safely. Default: 15 s. */
  readonly timeoutMs?: number;
  /** A silent server is pinged after this time, and has as long to answer. Default: 5 s. */
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
    async create(plant) {
      const { createPlant } = PlantService.method;
      // The fields have the same names. Undefined is absent.
      const message = { plant: plant as MessageInitShape<typeof NewPlantSchema> };
      await transport.unary(createPlant, undefined, timeoutMs, headers, message);
    },
    close: () => transport.close(),
  };
}
