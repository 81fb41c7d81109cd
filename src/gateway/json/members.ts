/** The members of a JSON object that is a message. */
import type { DescExtension, DescField, DescMessage, DescOneof } from "@bufbuild/protobuf";
import { FieldViolation } from "../violation.ts";
import type { JsonOptions, JsonReader } from "./scalar.ts";
import { type ExactJson, isJsonObject } from "./text.ts";

/** What the JSON of a message may have in it, and what each member is read into. */
export interface Members<T> {
  readonly byName: ReadonlyMap<string, Member<T>>;
  /** Whether two different keys may say the same: a field has two names, or a oneof two members. */
  readonly mayRepeat: boolean;
}

interface Member<T> {
  readonly field: DescField;
  readonly read: JsonReader<T>;
  /** Whether null is a value; else it means that the field is not set. */
  readonly takesNull: boolean;
}

export function createMembers<T>(
  { fields }: DescMessage,
  readerOf: (field: DescField) => JsonReader<T>,
): Members<T> {
  const byName = new Map<string, Member<T>>();
  for (const field of fields) {
    const isPlural = field.fieldKind === "list" || field.fieldKind === "map";
    const member = { field, read: readerOf(field), takesNull: !isPlural && takesNull(field) };
    byName.set(field.name, member).set(field.jsonName, member);
  }
  const mayRepeat = fields.some(({ name, jsonName, oneof }) => name !== jsonName || oneof);
  return { byName, mayRepeat };
}

interface Reading<T> {
  readonly options: JsonOptions;
  /** Gets the members that say something. */
  readonly known: (key: string, value: T, field: DescField) => void;
  /** Gets those that no field is named. */
  readonly unknown: (key: string, json: ExactJson) => void;
}

/**
 * Reads the members of an object, one by one.
 *
 * @throws {FieldViolation} for one that cannot be read, or that another has said already.
 */
export function readMembers<T>(
  { byName, mayRepeat }: Members<T>,
  object: { readonly [key: string]: ExactJson },
  { options, known, unknown }: Reading<T>,
): void {
  const seen = mayRepeat ? new Set<DescField | DescOneof>() : undefined;
  for (const key of Object.keys(object)) {
    const json = object[key] ?? null;
    const member = byName.get(key);
    if (member === undefined) {
      within(key, () => unknown(key, json));
      continue;
    }
    const isSet = json !== null || member.takesNull;
    if (seen !== undefined) assertNotSeen(seen, key, member.field, isSet);
    if (isSet) known(key, readMember(key, member, json, options), member.field);
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

/** As `within`, without a function for each of the fields that a message has. */
function readMember<T>(key: string, { read }: Member<T>, json: ExactJson, options: JsonOptions): T {
  try {
    return read(json, options);
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
