/**
 * Exact ProtoJSON. protobuf-es takes numbers from `JSON.parse`, which rounds them, and integers in
 * strings from `BigInt()` and `Number()`, which accept `"0x10"`, `" 1"` and `""`. Its errors do not
 * say where the value is.
 */
import {
  create,
  type DescExtension,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type JsonWriteStringOptions,
  type MessageShape,
  ScalarType,
  setExtension,
  toJson,
} from "@bufbuild/protobuf";
import {
  AnySchema,
  anyPack,
  hasCustomJsonRepresentation,
  isWrapperDesc,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  countValues,
  entryValues,
  memberValues,
  memoized,
  messageValues,
  smallObjectMax,
  textValues,
  valueBytes,
  valuesPerMaskByte,
} from "./decode.ts";
import {
  enumReader,
  integerTypes,
  type JsonOptions,
  plainJson,
  type Reader as ReaderOf,
  scalarReader,
  shortFloat,
} from "./json-scalar.ts";
import { type ExactJson, isJsonObject, parseJsonText, rawJson } from "./json-text.ts";
import { badRequest, FieldViolation } from "./violation.ts";
import { valueReaders } from "./well-known.ts";

/**
 * Reads a message from JSON. 64-bit integers are exact: `12.0`, `1.2e1`, or a string of digits.
 * @throws {ConnectError} INVALID_ARGUMENT with a `google.rpc.BadRequest`.
 */
export function messageFromJson<D extends DescMessage>(
  desc: D,
  json: ExactJson,
  options: JsonOptions = {},
): MessageShape<D> {
  const { recursionLimit = 100 } = options;
  const context = { ...options, recursionLimit, depth: 0 };
  try {
    return messageReader(desc)(json, context) as MessageShape<D>;
  } catch (error) {
    throw rejected(error);
  }
}

/** Parses the text of a body. @throws {ConnectError} INVALID_ARGUMENT. */
export function parseJson(bytes: Uint8Array): ExactJson {
  try {
    return parseJsonText(bytes);
  } catch (error) {
    throw rejected(error);
  }
}

/** INVALID_ARGUMENT for a {@link FieldViolation}. */
export const rejected = (error: unknown) =>
  error instanceof FieldViolation ? badRequest([error]) : error;

type Context = JsonOptions & { readonly recursionLimit: number; depth: number; isInAny?: boolean };

type Reader = ReaderOf<unknown, Context>;

/** A message as protobuf-es stores it: its fields and oneofs by their local names. */
type Local = MessageShape<DescMessage> & Record<string, unknown>;

interface Member {
  readonly field: DescField;
  readonly read: Reader;
  /** Whether null is a value. Otherwise it means that the field is not set. */
  readonly takesNull: boolean;
}

const messageReader = memoized((desc: DescMessage): Reader => {
  // Created on first use, because a message may contain itself.
  let members: ReadonlyMap<string, Member> | undefined;
  const values = messageValues(desc);
  const created: Reader = (json, context) => {
    members ??= membersOf(desc);
    const object = asObject(json);
    countValues(values);
    if (++context.depth > context.recursionLimit) {
      throw new FieldViolation("", `nests deeper than ${context.recursionLimit} messages`);
    }
    const message = create(desc) as Local;
    for (const key of Object.keys(object)) {
      const member = members.get(key);
      if (member === undefined) readUnknown(desc, message, key, object[key] ?? null, context);
      else readMember(message, key, member, object, context);
    }
    context.depth--;
    return message;
  };
  return wellKnownReader(desc) ?? created;
});

function membersOf({ fields }: DescMessage): ReadonlyMap<string, Member> {
  const members = fields.map((field): Member => {
    const isPlural = field.fieldKind === "list" || field.fieldKind === "map";
    return { field, read: fieldReader(field), takesNull: !isPlural && takesNull(field) };
  });
  // The JSON name of one field may be the proto name of another.
  return new Map([
    ...members.map((member) => [member.field.name, member] as const),
    ...members.map((member) => [member.field.jsonName, member] as const),
  ]);
}

function readMember(
  message: Local,
  key: string,
  { field, read, takesNull }: Member,
  object: { [key: string]: ExactJson },
  context: Context,
): void {
  const { jsonName, localName, oneof } = field;
  if (key !== jsonName && Object.hasOwn(object, jsonName)) {
    throw new FieldViolation(key, "must be given once");
  }
  const json = object[key] ?? null;
  if (json === null && !takesNull) return;
  if (oneof !== undefined && (message[oneof.localName] as { case?: string }).case !== undefined) {
    throw new FieldViolation(oneof.name, "must have one member only");
  }
  let value: unknown;
  try {
    value = read(json, context);
  } catch (error) {
    throw located(key, error);
  }
  if (value === undefined) return;
  if (oneof === undefined) message[localName] = value;
  else message[oneof.localName] = { case: localName, value };
}

/** Reads an extension, or passes over an unknown member if these are ignored. */
function readUnknown(
  { typeName }: DescMessage,
  message: Local,
  key: string,
  json: ExactJson,
  context: Context,
): void {
  const extension = context.registry?.getExtension(key.slice(1, -1));
  if (extension?.jsonName === key && extension.extendee.typeName === typeName) {
    within(nameOf(key), () => {
      if (json === null && (extension.fieldKind === "list" || !takesNull(extension))) return;
      const value = fieldReader(extension)(json, context);
      if (value === undefined) return;
      whole(extension.message, () => setExtension(message, extension, value as never));
    });
  } else if (context.ignoreUnknownFields !== true) {
    throw new FieldViolation(nameOf(key), "is not a known field");
  }
}

/** How an unknown key is written in a path, where a dot or an empty key would be misread. */
function nameOf(key: string): string {
  return key === "" || /^[^[]*\./.test(key) ? `[${JSON.stringify(key)}]` : key;
}

function fieldReader(field: DescField | DescExtension): Reader {
  const read = valueReader(field);
  const readElement: Reader = (json, context) => {
    if (json === null && !takesNull(field)) throw new FieldViolation("", "must not be null");
    return read(json, context);
  };
  if (field.fieldKind === "list") return listReader(readElement);
  return field.fieldKind === "map" ? mapReader(field.mapKey, readElement) : read;
}

/** The reader for one value of a field: an item of a list, or a value of a map. */
function valueReader(field: DescField | DescExtension): Reader {
  const { message, scalar } = field;
  if (field.enum !== undefined) return enumReader(field.enum);
  if (message !== undefined) {
    // protobuf-es stores a Struct as JSON, and a wrapper as its value.
    const isJson = message.typeName === "google.protobuf.Struct";
    if (isJson && field.parent?.typeName !== "google.protobuf.Value") {
      const check = messageReader(message);
      return (json, context) => check(json, context) && plainJson(json);
    }
    const isOne = field.fieldKind === "message" && field.oneof === undefined;
    if (isOne && isWrapperDesc(message)) return scalarReader(message.fields[0].scalar);
    return messageReader(message);
  }
  const read = scalarReader(scalar as ScalarType);
  const isText = (field.fieldKind === "scalar" || field.fieldKind === "list") && field.longAsString;
  return isText ? (json, context) => String(read(json, context)) : read;
}

function listReader(element: Reader): Reader {
  return (json, context) => {
    if (!Array.isArray(json)) throw new FieldViolation("", "must be a JSON array");
    const items: unknown[] = [];
    let at = 0;
    try {
      for (; at < json.length; at++) {
        const item = element(json[at] as ExactJson, context);
        if (item !== undefined) items.push(item);
      }
    } catch (error) {
      throw located(`[${at}]`, error);
    }
    return items;
  };
}

function mapReader(type: ScalarType, element: Reader): Reader {
  const isInteger = integerTypes.has(type);
  const readKey = scalarReader(type);
  return (json, context) => {
    const members = Object.entries(asObject(json));
    // Those of a large object were counted as its members.
    const counted = members.length > smallObjectMax ? memberValues : 0;
    countValues(members.length * (entryValues - counted));
    const entries: [string, unknown][] = [];
    for (const [key, value] of members) {
      try {
        // A key has only one form, even if a value may have several.
        if (isInteger) readKey(plainInteger.test(key) ? key : "", context);
        else if (type === ScalarType.BOOL && key !== "true" && key !== "false") {
          throw new FieldViolation("", "must be true or false");
        } else if (!key.isWellFormed()) {
          throw new FieldViolation("", "must not have a lone surrogate in a key");
        }
        const read = element(value, context);
        if (read !== undefined) entries.push([key, read]);
      } catch (error) {
        throw located(`["${key}"]`, error);
      }
    }
    return Object.fromEntries(entries);
  };
}

const plainInteger = /^(?:0|-?[1-9]\d*)$/;

export function takesNull(field: DescField | DescExtension): boolean {
  const typeName = (field.message ?? field.enum)?.typeName;
  return typeName === "google.protobuf.Value" || typeName === "google.protobuf.NullValue";
}

function wellKnownReader(desc: DescMessage): Reader | undefined {
  if (isWrapperDesc(desc)) {
    const read = scalarReader(desc.fields[0].scalar);
    return (json, context) => Object.assign(create(desc), { value: read(json, context) });
  }
  if (desc.typeName === "google.protobuf.Any") return readAny;
  if (!hasCustomJsonRepresentation(desc)) return undefined;
  const read = valueReaders[desc.name] as (json: JsonValue, depth: number) => object;
  return (json, context) => {
    const value = plainJson(json);
    const maskBytes = desc.name === "FieldMask" && typeof value === "string" ? value.length : 0;
    countValues(textValues + maskBytes * valuesPerMaskByte);
    const depth = context.recursionLimit - context.depth - 1;
    try {
      if (depth < 0) throw new RangeError("it nests too deep");
      return Object.assign(create(desc), read(value, depth));
    } catch (cause) {
      throw new FieldViolation("", `must be a ${desc.name} in its JSON form`, { cause });
    }
  };
}

function readAny(json: ExactJson, context: Context) {
  const { "@type": type, ...rest } = asObject(json);
  countValues(textValues);
  const any = create(AnySchema);
  if (type === undefined) {
    if (Object.keys(rest).length === 0) return any;
    throw new FieldViolation("", "must have an @type");
  }
  const url = typeof type === "string" && type.isWellFormed() ? type : "";
  const typeName = typeNameIn(url);
  const desc = context.registry?.getMessage(typeName);
  if (desc === undefined) throw new FieldViolation("", "must have an @type that is known here");
  // Go writes the value of an Empty, too.
  const isEmpty = desc.typeName === "google.protobuf.Empty" && rest["value"] !== undefined;
  const hasValue = isEmpty || hasCustomJsonRepresentation(desc);
  const { value = null, ...others } = rest;
  const [unknown] = Object.keys(others);
  if (hasValue && unknown !== undefined && context.ignoreUnknownFields !== true) {
    throw new FieldViolation(nameOf(unknown), "is not a known field");
  }
  const inside = { ...context, isInAny: true };
  const message = messageReader(desc)(hasValue ? value : rest, inside) as Local;
  whole(desc, () => anyPack(desc, message, any));
  if (context.isInAny) countValues(any.value.length / valueBytes); // each one around it copies them
  if (url !== typeName) any.typeUrl = url;
  return any;
}

const typeNameIn = (url: string) => url.slice(url.lastIndexOf("/") + 1);

/** Runs what writes a message as bytes, which fails if a required field of proto2 is missing. */
function whole(desc: DescMessage | undefined, write: () => void): void {
  try {
    write();
  } catch (cause) {
    throw new FieldViolation("", `must be a whole ${desc?.typeName}`, { cause });
  }
}

function asObject(json: ExactJson): { [key: string]: ExactJson } {
  if (!isJsonObject(json)) throw new FieldViolation("", "must be a JSON object");
  return json;
}

/** Reads a named value. Adds the name to the path of any error inside it. */
export function within<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw located(name, error);
  }
}

function located(name: string, error: unknown): unknown {
  return error instanceof FieldViolation && name !== "" ? error.within(name) : error;
}

export interface JsonWriterOptions extends Partial<JsonWriteStringOptions> {
  /** How to write 64-bit integers. Default `string`: few readers keep a `number` past 2^53 exact. */
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

/** As ProtoJSON. @throws {ConnectError} INTERNAL for an Any of an unknown type, by name. */
export function messageToJson<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
  options: JsonWriterOptions,
): JsonValue {
  try {
    const json = toJson(desc, message, options);
    return mayDiffer({ message: desc }, options) ? exact({ message: desc }, json, options) : json;
  } catch (cause) {
    throw ConnectError.from(cause, Code.Internal);
  }
}

type Typed = Partial<Pick<DescField, "scalar" | "message">>;

/** Also that of a wrapper. */
export function scalarOf({ scalar, message }: Typed): ScalarType | undefined {
  return message && isWrapperDesc(message) ? message.fields[0].scalar : scalar;
}

const isLong = (type: ScalarType | undefined) => integerTypes.get(type as ScalarType)?.bits === 64;

/** Whether it is a float, or a message that may hold any other. */
function isFloat({ scalar, message }: Typed): boolean {
  if (message === undefined) return scalar === ScalarType.FLOAT || scalar === ScalarType.DOUBLE;
  return message.typeName === AnySchema.typeName || message.proto.extensionRange.length > 0;
}

const mayHaveFloat = memoized((message: DescMessage): boolean => {
  const all = new Set<Typed>([{ message }]);
  for (const { message } of all) for (const field of message?.fields ?? []) all.add(field);
  return all.values().some(isFloat);
});

/** Whether the JSON of protobuf-es may not be exact: of a float, or of a message with one in it. */
function mayDiffer(typed: Typed, { int64 }: JsonWriterOptions): boolean {
  const { scalar, message } = typed;
  if (int64 === "number" && (message !== undefined || isLong(scalar))) return true;
  return message === undefined ? isFloat(typed) : mayHaveFloat(message);
}

/** protobuf-es writes a float of 0.1 as 0.10000000149011612, -0 as 0, and 64-bit integers as text. */
function exact(typed: Typed, json: JsonValue, options: JsonWriterOptions): JsonValue {
  const { int64, registry, useProtoFieldName } = options;
  const type = scalarOf(typed);
  if (Object.is(json, -0)) return rawJson("-0");
  if (typeof json === "number") return type === ScalarType.FLOAT ? shortFloat(json) : json;
  if (typeof json === "string") return int64 === "number" && isLong(type) ? rawJson(json) : json;
  if (json === null) return json;
  const object = json as JsonObject; // or an array, by index, or a bool, without entries
  const each = (of: Typed, values: JsonObject) => {
    for (const [key, value] of Object.entries(values)) values[key] = exact(of, value, options);
    return values;
  };
  const isAny = typed.message?.typeName === AnySchema.typeName;
  const url = object["@type"]; // not of an empty Any
  const desc = isAny ? url && registry?.getMessage(typeNameIn(`${url}`)) : typed.message;
  if (!desc) return json;
  if (hasCustomJsonRepresentation(desc)) {
    if (!isAny) return each(typed, object); // a Struct, Value or ListValue
    object["value"] = exact({ message: desc }, object["value"] as JsonValue, options);
    return json;
  }
  const more = Object.keys(object).flatMap((key) => registry?.getExtension(key.slice(1, -1)) ?? []);
  for (const field of [...desc.fields, ...more]) {
    const key = useProtoFieldName && field.kind === "field" ? field.name : field.jsonName;
    if (!Object.hasOwn(object, key) || !mayDiffer(field, options)) continue;
    const value = object[key] as JsonValue;
    const isPlural = field.fieldKind === "list" || field.fieldKind === "map";
    object[key] = isPlural ? each(field, value as JsonObject) : exact(field, value, options);
  }
  return json;
}
