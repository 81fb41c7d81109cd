/** Converts messages to JSON values for `JSON.stringify`. */
import {
  type DescField,
  type DescMessage,
  type JsonValue,
  type JsonWriteStringOptions,
  type MessageShape,
  ScalarType,
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
 * Writes a message. Omits unset fields, as ProtoJSON does. A float is the shortest decimal that is
 * read as the same float, as in Go and C++; protobuf-es would write 0.10000000149011612 for 0.1.
 *
 * @throws {ConnectError} INTERNAL for a `google.protobuf.Any` of a type that is not known, by name.
 */
export function messageToJson<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  options: JsonWriterOptions,
): JsonValue {
  const json = writeJson(() => toJson(desc, message, options));
  const hasRawLongs = options.int64 === "number";
  return hasRawLongs || numbersOf(desc).hasFloats ? withNumbers(desc, json, hasRawLongs) : json;
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

function isFloat(type: ScalarType | undefined): boolean {
  return type === ScalarType.FLOAT || type === ScalarType.DOUBLE;
}

interface Numbers {
  /** Those whose JSON may have numbers to rewrite, by both their names. */
  readonly fields: ReadonlyMap<string, DescField>;
  /** Whether a message, or one in it, has a float or a double. */
  readonly hasFloats: boolean;
}

const known = new WeakMap<DescMessage, Numbers>();

function numbersOf(desc: DescMessage): Numbers {
  const found = known.get(desc);
  if (found !== undefined) return found;
  const own = numberFields(desc);
  const fields = new Map(
    own.flatMap((one) => [one.name, one.jsonName].map((name) => [name, one] as const)),
  );
  const all = new Set(own);
  for (const { message } of all) {
    for (const field of message ? numberFields(message) : []) all.add(field);
  }
  const numbers = { fields, hasFloats: [...all].some(({ scalar }) => isFloat(scalar)) };
  known.set(desc, numbers);
  return numbers;
}

function numberFields(desc: DescMessage): readonly DescField[] {
  if (desc.typeName.startsWith("google.protobuf.") && !isWrapperDesc(desc)) return [];
  return desc.fields.filter(({ scalar, message }) => message || isFloat(scalar) || isLong(scalar));
}

function withNumbers(desc: DescMessage, json: JsonValue, hasRawLongs: boolean): JsonValue {
  if (isWrapperDesc(desc)) return numberOf(desc.fields[0].scalar, json, hasRawLongs);
  if (!isJsonObject(json)) return json;
  const { fields } = numbersOf(desc);
  for (const name of Object.keys(json)) {
    const field = fields.get(name);
    const member = json[name] ?? null;
    if (field && member !== null) json[name] = memberWithNumbers(field, member, hasRawLongs);
  }
  return json;
}

function memberWithNumbers(field: DescField, json: JsonValue, hasRawLongs: boolean): JsonValue {
  const convert = (value: JsonValue): JsonValue =>
    field.message !== undefined
      ? withNumbers(field.message, value, hasRawLongs)
      : numberOf(field.scalar, value, hasRawLongs);
  if (field.fieldKind === "list" && Array.isArray(json)) return json.map(convert);
  if (field.fieldKind === "map" && isJsonObject(json)) {
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, convert(value)]));
  }
  return convert(json);
}

function numberOf(type: ScalarType | undefined, json: JsonValue, hasRawLongs: boolean): JsonValue {
  if (Object.is(json, -0)) return rawJson("-0");
  if (type === ScalarType.FLOAT && typeof json === "number") return shortestFloat(json);
  return hasRawLongs && isLong(type) && typeof json === "string" ? rawJson(json) : json;
}

function shortestFloat(value: number): number {
  const float = Math.fround(value);
  // A decimal of 6 digits survives as a float, but for the smallest floats.
  for (let digits = Math.abs(float) < 2 ** -126 ? 1 : 6; digits <= 9; digits++) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === float && Math.abs(decimal) <= floatMax) return decimal;
  }
  return value;
}

/** Readers reject a decimal past it, even if it is nearest to it. */
const floatMax = (2 - 2 ** -23) * 2 ** 127;
