/** JSON of the messages that are a value in it: https://protobuf.dev/programming-guides/json. */
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ListValueSchema, StructSchema, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";

/**
 * How the fields of each are read from its JSON, by its name in the package `google.protobuf`. They
 * throw for any other JSON, and for a Value in more Values than `depth`.
 */
export const valueReaders: Readonly<Record<string, (json: JsonValue, depth: number) => object>> = {
  Timestamp: readTimestamp,
  Duration: readDuration,
  FieldMask: readFieldMask,
  Struct: (json, depth) => readStruct(json as JsonObject, depth),
  ListValue: (json, depth) => readList(json as JsonValue[], depth),
  Value: readValue,
};

const timestamp = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** In seconds: from the year 1 to the year 9999. */
const secondsMin = -62_135_596_800;
const secondsMax = 253_402_300_799;

function readTimestamp(json: JsonValue) {
  const [, time = "", fraction = "", zone = ""] = timestamp.exec(textOf(json)) ?? [];
  // Date turns February 30 into March 2, and 24:00 into the next day.
  const isDate = new Date(`${time}Z`).toISOString().startsWith(time);
  const seconds = Date.parse(time + zone) / 1000;
  if (!isDate || !(seconds >= secondsMin && seconds <= secondsMax)) throw new RangeError(time);
  return { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, "0")) };
}

const durationSecondsMax = 315_576_000_000;

function readDuration(json: JsonValue) {
  const [, sign, seconds, fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(textOf(json)) ?? [];
  if (!(Number(seconds) <= durationSecondsMax)) throw new RangeError(textOf(json));
  const direction = sign === "-" ? -1 : 1;
  return {
    seconds: BigInt(direction * Number(seconds)),
    nanos: direction * Number(fraction.padEnd(9, "0")) || 0, // there is no -0
  };
}

function readFieldMask(json: JsonValue) {
  const text = textOf(json);
  if (text.includes("_")) throw new TypeError(text);
  const names = text.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { paths: names === "" ? [] : names.split(",") };
}

function textOf(json: JsonValue): string {
  if (typeof json !== "string") throw new TypeError("it is no text");
  return json;
}

function readStruct(json: JsonObject, depth: number) {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new TypeError();
  const members = Object.entries(json);
  return {
    fields: Object.fromEntries(members.map(([key, one]) => [key, createValue(one, depth)])),
  };
}

function readList(json: JsonValue[], depth: number) {
  return { values: json.map((value) => createValue(value, depth)) };
}

function readValue(json: JsonValue, depth: number) {
  if (depth <= 0) throw new RangeError("it nests too deep");
  return { kind: kindOf(json, depth - 1) };
}

function createValue(json: JsonValue, depth: number): Value {
  return Object.assign(create(ValueSchema), readValue(json, depth));
}

function kindOf(json: JsonValue, depth: number): Value["kind"] {
  if (typeof json === "number") return { case: "numberValue", value: json };
  if (typeof json === "string") return { case: "stringValue", value: json };
  if (typeof json === "boolean") return { case: "boolValue", value: json };
  if (json === null) return { case: "nullValue", value: 0 };
  if (Array.isArray(json)) {
    const value = Object.assign(create(ListValueSchema), readList(json, depth));
    return { case: "listValue", value };
  }
  const value = Object.assign(create(StructSchema), readStruct(json, depth));
  return { case: "structValue", value };
}
