/** What users of the package import: a typed client, and the generated types. */
export { Code, ConnectError } from "@connectrpc/connect";
/** The details of an error: `error.findDetails(BadRequestSchema)` names the fields that are wrong. */
export { BadRequestSchema, RetryInfoSchema } from "connect-gateway/protos";
export * from "../gen/plantstore/v1/plant_service_pb.ts";
export {
  bearerToken,
  createPlantClient,
  type PlantClientOptions,
  type TokenSource,
} from "./client.ts";
