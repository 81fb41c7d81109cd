/** CreatePlant: message -> domain -> store -> message. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { cancellationOf } from "connect-gateway";
import { BadRequestSchema, RetryInfoSchema } from "connect-gateway/protos";
import type {
  CreatePlantResponseSchema,
  NewPlant as NewPlantMessage,
  PlantService,
} from "../gen/plantstore/v1/plant_service_pb.ts";
import {
  type NewPlant,
  type NothingLeft,
  overloaded,
  type Plant,
  PlantError,
  type PlantStore,
} from "./plant.ts";

/** Implements PlantService on a store. The server has checked `google.api.field_behavior` before. */
export function createPlantService(store: PlantStore): ServiceImpl<typeof PlantService> {
  return {
    createPlant(request, context) {
      const plant = parseNewPlant(request.plant);
      return store.create(plant, cancellationOf(context)).then(toResponse, fail);
    },
  };
}

/** Before a body is read, if the store would reject it. @throws {ConnectError} `unavailable`. */
export function assertRoom(store: PlantStore): void {
  if (!store.isFull()) return;
  noRoom ??= connectErrorFrom(overloaded());
  throw noRoom;
}

function parseNewPlant(message: NewPlantMessage | undefined): NewPlant {
  const { id, name, tag } = message ?? {};
  if (id === undefined || name === undefined) {
    throw new Error("a request came without its required fields");
  }
  return { id, name, tag } satisfies Record<keyof NewPlant, unknown>;
}

function toResponse(plant: Plant): MessageInitShape<typeof CreatePlantResponseSchema> {
  const { name, tag, ...rest } = plant;
  rest satisfies NothingLeft;
  return { plant: tag === undefined ? { name } : { name, tag } };
}

function fail(error: unknown): never {
  throw error instanceof PlantError ? connectErrorFrom(error) : error;
}

/** The only place that maps a domain error to a code. */
function connectErrorFrom(error: PlantError): ConnectError {
  const { code, message, field } = error;
  switch (code) {
    case "invalid": {
      const fieldViolations = [{ field: `plant.${field}`, description: message }];
      const detail = { desc: BadRequestSchema, value: { fieldViolations } };
      return new ConnectError(message, Code.InvalidArgument, undefined, [detail]);
    }
    case "id_taken":
      return new ConnectError(message, Code.AlreadyExists);
    case "overloaded":
    case "unavailable": {
      const header = { "retry-after": `${retryAfterSeconds}` };
      const retryDelay = { seconds: retryAfterSeconds };
      const detail = { desc: RetryInfoSchema, value: { retryDelay } };
      return new ConnectError(message, Code.Unavailable, header, [detail], error);
    }
  }
}

/** Long enough to write a burst, and short enough that clients do not idle. */
const retryAfterSeconds = 1n;

/** Creating it costs more than returning it. Not made at startup: it loads undici. */
let noRoom: ConnectError | undefined;
