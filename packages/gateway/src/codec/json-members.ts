/** The members of a JSON object that represents a message. */
import type {
  DescExtension,
  DescField,
  DescMessage,
  DescOneof,
  JsonValue,
} from "@bufbuild/protobuf";
import type { JsonOptions, Normaliser } from "./json-scalar.ts";
import { type ExactJson, isJsonObject } from "./json-value.ts";
import { FieldViolation } from "./violation.ts";

/** The members that the JSON of a message may have. */
export interface Members {
  readonly byName: ReadonlyMap<string, Member>;
  /**
   * Whether two different keys may set the same thing: a field has two names, or a oneof has two
   * members.
   */
  readonly mayRepeat: boolean;
}

interface Member {
  readonly field: DescField;
  readonly normalise: Normaliser;
  /** Whether null is a value. Otherwise it means that the field is not set. */
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

/** Reads a member that matches no field. @throws {FieldViolation} */
type UnknownReader = (key: string, json: ExactJson, options: JsonOptions) => JsonValue;

/**
 * Normalises the members of an object one by one, in place.
 *
 * @throws {FieldViolation} if a member cannot be read, or sets what another one has already set.
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

/** Records that a key was seen. @throws {FieldViolation} if another key has set the same. */
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

/** How an unknown key is written in a path, where a dot or an empty key would be misread. */
function nameOf(key: string): string {
  return key === "" || /^[^[]*\./.test(key) ? `[${JSON.stringify(key)}]` : key;
}

/** Like `within`, but without creating a function for each field. */
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

/** @throws {FieldViolation} unless unknown members are ignored. */
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

/** Reads a named value. Adds the name to the path of any error inside it. */
export function within<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldViolation ? error.within(name) : error;
  }
}
