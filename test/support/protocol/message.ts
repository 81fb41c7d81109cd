/** The messages of CreatePlant in each encoding. */
import { create, toBinary } from "@bufbuild/protobuf";
import {
  CreatePlantRequestSchema,
  PlantService,
} from "../../../gen/plantstore/v1/plant_service_pb.ts";
import type { PlantInput } from "./protocol.ts";

export const createPlantPath = `/${PlantService.typeName}/${PlantService.method.createPlant.name}`;

/** The id as a JSON number with all its digits. */
export function newPlantJson({ id, ...texts }: PlantInput): string {
  const rest = JSON.stringify(texts);
  if (id === undefined) return rest;
  return `{"id":${id}${rest === "{}" ? "" : ","}${rest.slice(1)}`;
}

export function requestJson(plant: PlantInput): string {
  return `{"plant":${newPlantJson(plant)}}`;
}

export function requestBinary(plant: PlantInput): Uint8Array<ArrayBuffer> {
  return toBinary(CreatePlantRequestSchema, create(CreatePlantRequestSchema, { plant }));
}
