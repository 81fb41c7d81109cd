/** CreatePlant on the unmodified connect-node adapter. */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";

export const handler: ReturnType<typeof connectNodeAdapter> = connectNodeAdapter({
  routes(router) {
    router.service(PlantService, {
      createPlant({ plant }) {
        const { name = "", tag } = plant ?? {};
        return { plant: tag === undefined ? { name } : { name, tag } };
      },
    });
  },
});
