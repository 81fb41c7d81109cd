/** The messages of CreatePlant in each encoding. */
import { create, fromBinary, fromJsonString, toBinary } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import {
  CreatePlantRequestSchema,
  type CreatePlantResponse,
  CreatePlantResponseSchema,
  PlantService,
} from "../../../gen/plantstore/v1/plant_service_pb.ts";
import type { Outcome, PlantInput, Refusal } from "./protocol.ts";

/** The path of CreatePlant in all protocols but REST. */
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

export function outcomeFromJson(text: string): Outcome {
  return outcomeFrom(fromJsonString(CreatePlantResponseSchema, text));
}

export function outcomeFromBinary(bytes: Uint8Array): Outcome {
  return outcomeFrom(fromBinary(CreatePlantResponseSchema, bytes));
}

export function outcomeFrom({ plant }: CreatePlantResponse): Outcome {
  const { name, tag } = plant ?? {};
  if (name === undefined) throw new Error("the answer has no plant with a name");
  return { ok: tag === undefined ? { name } : { name, tag } };
}

export function refusalFrom(error: ConnectError): Refusal {
  const [badRequest] = error.findDetails(BadRequestSchema);
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return {
    code: error.code,
    message: error.rawMessage,
    violations: badRequest?.fieldViolations.map(({ field, description }) => ({
      field,
      description,
    })),
    retryDelayMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    metadata: error.metadata,
  };
}
