/** The members of a JSON object that is a message. */
import type {
  DescExtension,
  DescField,
  DescMessage,
  DescOneof,
  JsonValue,
} from "@bufbuild/protobuf";
import { FieldViolation } from "../call/violation.ts";
import type { JsonOptions, Normaliser } from "./scalar.ts";
import { type ExactJson, isJsonObject } from "./value.ts";

/** What the JSON of a message may have in it. */
export interface Members {
  readonly byName: ReadonlyMap<string, Member>;
  /** Whether two different keys may say the same: a field has two names, or a oneof two members. */
  readonly mayRepeat: boolean;
}

interface Member {
  readonly field: DescField;
  readonly normalise: Normaliser;
  /** Whether null is a value; else it means that the field is not set. */
  readonly takesNull: boolean;
}

export function createMembers(
  { fields }: DescMessage,
  normaliserOf: (field: DescField) => Normaliser,
): Members {
  const byName = new Map<string, Member>();
  for (const field of fields) {
    const isPlural = field.fieldKind === "list" || field.fieldKind === "map";
    const normalise = normaliserOf(field);
    const member = { field, normalise, takesNull: !isPlural && takesNull(field) };
    byName.set(field.name, member).set(field.jsonName, member);
  }
  const mayRepeat = fields.some(({ name, jsonName, oneof }) => name !== jsonName || oneof);
  return { byName, mayRepeat };
}

/** Reads a member that no field is named. @throws {FieldViolation} */
type UnknownReader = (key: string, json: ExactJson, options: JsonOptions) => JsonValue;

/**
 * Normalises the members of an object, one by one, in their places.
 *
 * @throws {FieldViolation} for one that cannot be read, or that another has said already.
 */
export function normaliseMembers(
  { byName, mayRepeat }: Members,
  object: { [key: string]: ExactJson },
  options: JsonOptions,
  readUnknown: UnknownReader,
): void {
  const seen = mayRepeat ? new Set<DescField | DescOneof>() : undefined;
  for (const key of Object.keys(object)) {
    const json = object[key] ?? null;
    const member = byName.get(key);
    if (member === undefined) {
      object[key] = within(nameOf(key), () => readUnknown(key, json, options));
      continue;
    }
    const isSet = json !== null || member.takesNull;
    if (seen !== undefined) assertNotSeen(seen, key, member.field, isSet);
    if (isSet) object[key] = normaliseMember(key, member, json, options);
  }
}

/** Notes that a key is there. @throws {FieldViolation} if another has said the same. */
function assertNotSeen(
  seen: Set<DescField | DescOneof>,
  key: string,
  field: DescField,
  isSet: boolean,
): void {
  if (seen.has(field)) throw new FieldViolation(key, "must be given once");
  seen.add(field);
  const { oneof } = field;
  if (oneof === undefined || !isSet) return;
  if (seen.has(oneof)) throw new FieldViolation(oneof.name, "must have one member only");
  seen.add(oneof);
}

/** How a key is called that no field has: in a path, a dot or nothing at all would be misread. */
function nameOf(key: string): string {
  return key === "" || /^[^[]*\./.test(key) ? `[${JSON.stringify(key)}]` : key;
}

/** As `within`, without a function for each of the fields that a message has. */
function normaliseMember(
  key: string,
  { normalise }: Member,
  json: ExactJson,
  options: JsonOptions,
): JsonValue {
  try {
    return normalise(json, options);
  } catch (error) {
    throw error instanceof FieldViolation ? error.within(key) : error;
  }
}

/** @throws {FieldViolation} unless what no field is named is passed over. */
export function assertMayBeUnknown({ ignoreUnknownFields }: JsonOptions): void {
  if (ignoreUnknownFields !== true) throw new FieldViolation("", "is not a known field");
}

/** For all but two types, null means that a field is not set. */
export function takesNull({ message, enum: enumeration }: DescField | DescExtension): boolean {
  return (
    message?.typeName === "google.protobuf.Value" ||
    enumeration?.typeName === "google.protobuf.NullValue"
  );
}

export function asObject(json: ExactJson): { [key: string]: ExactJson } {
  if (!isJsonObject(json)) throw new FieldViolation("", "must be a JSON object");
  return json;
}

/** Reads what stands under a name: what is wrong in it is told with that name. */
export function within<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldViolation ? error.within(name) : error;
  }
}
