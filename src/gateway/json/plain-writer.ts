import { type DescMessage, isFieldSet, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { type PlainField, type PlainMessage, plainMessageOf } from "../plain.ts";
import { integerTypes } from "./scalar.ts";
import type { JsonWriterOptions } from "./writer.ts";

type Message = MessageShape<DescMessage>;

/**
 * Writes a message as JSON text.
 *
 * @returns undefined for one that is not plain, for options that are not the usual
 * ones, and for what is unusual in any way, right or wrong: values of another type,
 * floats and bytes.
 */
export function writePlainJson(
  desc: DescMessage,
  message: Message,
  options: JsonWriterOptions,
): string | undefined {
  const { alwaysEmitImplicit, useProtoFieldName, registry, prettySpaces, int64 } = options;
  if (alwaysEmitImplicit || useProtoFieldName || registry) return undefined;
  if (prettySpaces || int64 === "number") return undefined;
  const plain = plainMessageOf(desc);
  return plain && writeMessage(plain, message);
}

function writeMessage({ desc, fields }: PlainMessage, message: Message): string | undefined {
  if (message.$typeName !== desc.typeName) return undefined;
  let text = "";
  for (const { desc, name, key, type } of fields) {
    if (!isFieldSet(message, desc)) continue;
    const value = writeValue(type, (message as Message & Record<string, unknown>)[name]);
    if (value === undefined) return undefined;
    text += `${text === "" ? "{" : ","}"${key}":${value}`;
  }
  return text === "" ? "{}" : `${text}}`;
}

function writeValue(type: PlainField["type"], value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return type === ScalarType.STRING && value.isWellFormed() ? JSON.stringify(value) : undefined;
    case "boolean":
      return type === ScalarType.BOOL ? String(value) : undefined;
    case "number":
      return isInteger(type, value, 32) ? String(value) : undefined;
    case "bigint":
      return isInteger(type, value, 64) ? `"${value}"` : undefined;
    case "object":
      return typeof type === "object" && value !== null && "$typeName" in value
        ? writeMessage(type, value as Message)
        : undefined;
    default:
      return undefined;
  }
}

/** Whether it is a value of the type, which has so many bits. */
function isInteger(type: PlainField["type"], value: number | bigint, bits: 32 | 64): boolean {
  const integer = typeof type === "object" ? undefined : integerTypes.get(type);
  if (integer?.bits !== bits) return false;
  if (typeof value === "number") return value === (integer.signed ? value | 0 : value >>> 0);
  return value === (integer.signed ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value));
}
