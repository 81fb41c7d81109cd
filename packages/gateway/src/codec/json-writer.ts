/** Converts messages to JSON values for `JSON.stringify`. */
import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type JsonWriteStringOptions,
  type MessageShape,
  type ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { integerTypes } from "./json-scalar.ts";
import { isJsonObject, rawJson } from "./json-text.ts";

export interface JsonWriterOptions extends Partial<JsonWriteStringOptions> {
  /**
   * How to write 64-bit integers. `string` is ProtoJSON, and the default: few readers keep a
   * `number` past 2^53 exact.
   */
  readonly int64?: "string" | "number";
}

/** Called with the type of a `google.protobuf.Any` that cannot be written, as it is not known. */
export type OnUnknownType = (typeName: string) => void;

/** Options for writing that report types that are missing in the registry. */
export function telling<T extends JsonWriterOptions>(options: T, onUnknownType?: OnUnknownType): T {
  const { registry } = options;
  if (registry === undefined || onUnknownType === undefined) return options;
  const getMessage = (typeName: string) => {
    const desc = registry.getMessage(typeName);
    if (desc === undefined) onUnknownType(typeName);
    return desc;
  };
  return { ...options, registry: Object.create(registry, { getMessage: { value: getMessage } }) };
}

/**
 * Writes a message. Omits unset fields, as ProtoJSON does.
 *
 * @throws {ConnectError} INTERNAL for a `google.protobuf.Any` of a type that is not known, by name.
 */
export function messageToJson<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  options: JsonWriterOptions,
): JsonValue {
  const json = writeJson(() => toJson(desc, message, options));
  return options.int64 === "number" ? withNumbers(desc, json) : json;
}

export function writeJson<T>(write: () => T): T {
  try {
    return write();
  } catch (cause) {
    throw ConnectError.from(cause, Code.Internal);
  }
}

function isLong(type: ScalarType | undefined): boolean {
  return type !== undefined && integerTypes.get(type)?.bits === 64;
}

function withNumbers(desc: DescMessage, json: JsonValue): JsonValue {
  if (typeof json === "string") {
    return isWrapperDesc(desc) && isLong(desc.fields[0].scalar) ? rawJson(json) : json;
  }
  if (!isJsonObject(json) || desc.typeName.startsWith("google.protobuf.")) return json;
  for (const field of desc.fields) {
    for (const name of [field.jsonName, field.name]) {
      const member = json[name];
      if (member !== undefined && member !== null) json[name] = memberWithNumbers(field, member);
      if (field.name === field.jsonName) break;
    }
  }
  return json;
}

function memberWithNumbers(field: DescField, json: JsonValue): JsonValue {
  const convert = (value: JsonValue): JsonValue => {
    if (field.message !== undefined) return withNumbers(field.message, value);
    return isLong(field.scalar) && typeof value === "string" ? rawJson(value) : value;
  };
  if (field.fieldKind === "list" && Array.isArray(json)) return json.map(convert);
  if (field.fieldKind === "map" && isJsonObject(json)) {
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, convert(value)]));
  }
  return convert(json);
}
