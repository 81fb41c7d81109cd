import { isUtf8 } from "node:buffer";
import { ConnectError } from "@connectrpc/connect";
import { type ExactJson, messageFromJson } from "connect-gateway";
import { BadRequestSchema } from "connect-gateway/protos";
import { NewPlantSchema } from "../../gen/plantstore/v1/plant_service_pb.ts";
import { assertValidPlant, type NewPlant, PlantError, plantFrom } from "../plant.ts";

/** A row of a file: a plant, or the reason why it is none. */
export type Row = PlantRow | MalformedRow;

export interface PlantRow {
  readonly kind: "plant";
  /** The number of its first line, from 1. */
  readonly line: number;
  readonly plant: NewPlant;
}

interface MalformedRow {
  readonly kind: "malformed";
  readonly line: number;
  readonly reason: string;
  /** The row as JSON: its fields, or its text if it has none. Undefined if it was not kept. */
  readonly row?: string | undefined;
}

/** The file has another format: no rows can be found. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}

export class RowError extends Error {
  override readonly name = "RowError";
}

export type RowLimits = Readonly<typeof defaultRowLimits>;

/** The largest plant that a server takes by default, 1 MiB, with each byte written as `\u00XX`. */
export const defaultRowLimits = { lineBytesMax: 8 * 1024 * 1024 };

/**
 * Parses a row, by the rules of `POST /plants`: ids exact, nothing guessed, no unknown field.
 * @param read May throw a {@link RowError}, or a ConnectError.
 * @param keep Returns the fields of a row that is no plant, or its text if it could not be read, as JSON.
 */
export function toRow(line: number, read: () => ExactJson, keep: (isRead: boolean) => string): Row {
  let isRead = false;
  try {
    const json = read();
    isRead = true;
    return { kind: "plant", line, plant: parsePlant(json) };
  } catch (error) {
    return { kind: "malformed", line, reason: reasonOf(error), row: keep(isRead) };
  }
}

/** For people. Latin-1 keeps the bytes of what is not UTF-8. */
export function readableText(bytes: Buffer): string {
  return bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
}

function parsePlant(json: ExactJson): NewPlant {
  const message = messageFromJson(NewPlantSchema, json, { ignoreUnknownFields: false });
  const { id, name } = message;
  if (id === undefined) throw new RowError("id is required");
  if (name === undefined) throw new RowError("name is required");
  const plant = plantFrom(id, (field) => message[field]);
  assertValidPlant(plant);
  return plant;
}

function reasonOf(error: unknown): string {
  if (error instanceof RowError || error instanceof PlantError) return error.message;
  if (!(error instanceof ConnectError)) throw error;
  const [violation] = error.findDetails(BadRequestSchema).flatMap((one) => one.fieldViolations);
  if (violation === undefined) return error.rawMessage;
  return `${violation.field || "the row"} ${violation.description}`;
}
