export { Code, ConnectError } from "@connectrpc/connect";
export * from "../gen/plantstore/v1/plant_service_pb.ts";
export { bearerToken, type TokenSource } from "./auth/client-token.ts";
export { createPlantClient, type PlantClientOptions } from "./client.ts";
