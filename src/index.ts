/** What users of the package import: a typed client, and the generated types. */
export { Code, ConnectError } from "@connectrpc/connect";
export * from "../gen/plantstore/v1/plant_service_pb.ts";
export {
  bearerToken,
  createPlantClient,
  type PlantClientOptions,
  type TokenSource,
} from "./client.ts";
