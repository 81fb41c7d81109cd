import { ConnectError } from "@connectrpc/connect";
import type { ExactJson } from "connect-gateway";
import { messageFromJson } from "connect-gateway";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { NewPlantSchema } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { NewPlant } from "../plant.ts";

/** A row of a file: a plant, or why it is none. */
export type Row = PlantRow | MalformedRow;

export interface PlantRow extends Place {
  readonly kind: "plant";
  readonly plant: NewPlant;
}

export interface MalformedRow extends Place {
  readonly kind: "malformed";
  readonly reason: string;
}

/** Where a row stands. */
export interface Place {
  /** Of its first line, from 1. */
  readonly line: number;
  /** How many bytes of the file were read by its end. */
  readonly bytes: number;
}

/** A whole file is not what it was said to be: there are no rows to tell apart. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}

/** A row is not a plant; the message says why. */
export class RowError extends Error {
  override readonly name = "RowError";
}

/** What bounds the memory that one row takes. */
export interface RowLimits {
  readonly lineBytesMax: number;
}

/** The largest plant that a server takes by default, 1 MiB, with each byte written as `\u00XX`. */
export const defaultRowLimits: RowLimits = { lineBytesMax: 8 * 1024 * 1024 };

/**
 * Makes a row of what stands in one, by the rules of `POST /plants`: ids exact,
 * nothing guessed, no field that is not a plant's.
 *
 * @param read May throw a {@link RowError}, or a ConnectError.
 */
export function toRow(place: Place, read: () => ExactJson): Row {
  try {
    return { kind: "plant", ...place, plant: parsePlant(read()) };
  } catch (error) {
    return { kind: "malformed", ...place, reason: reasonOf(error) };
  }
}

/** @throws {RowError} {@link ConnectError} INVALID_ARGUMENT */
function parsePlant(json: ExactJson): NewPlant {
  const message = messageFromJson(NewPlantSchema, json, { ignoreUnknownFields: false });
  const { id, name, tag } = message;
  if (id === undefined) throw new RowError("id is required");
  if (name === undefined) throw new RowError("name is required");
  return { id, name, tag };
}

function reasonOf(error: unknown): string {
  if (error instanceof RowError) return error.message;
  if (!(error instanceof ConnectError)) throw error;
  const [violation] = error.findDetails(BadRequestSchema).flatMap((one) => one.fieldViolations);
  if (violation === undefined) return error.rawMessage;
  return `${violation.field || "the row"} ${violation.description}`;
}
