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
}

/** Of a call, which may be retried safely. */
const timeoutMs = 15_000;

export function createPlantCreator({ url, token, ca }: PlantCreatorOptions): PlantCreator {
  const tls = () => ({ ca });
  const transport = openGrpcTransport({ url, tls, userAgent: "plant-store-import" });
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
