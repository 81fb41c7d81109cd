/** CreatePlant on the unmodified connect-node adapter. */
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";

/** Stores nothing. */
export function routes(router: ConnectRouter): void {
  router.service(PlantService, {
    createPlant({ plant }) {
      const { name = "", tag } = plant ?? {};
      return { plant: tag === undefined ? { name } : { name, tag } };
    },
  });
}

export const handler: ReturnType<typeof connectNodeAdapter> = connectNodeAdapter({ routes });
