/** The JSON of an answer. */
import type { DescEnum, DescField, DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { integerTypes } from "../../codec/json-scalar.ts";
import { isJsonObject } from "../../codec/json-value.ts";
import { type JsonWriterOptions, messageToJson } from "../../codec/json-writer.ts";
import type { Route } from "../routing/route.ts";
import { hasCustomJson } from "../rule/field-path.ts";

/** The JSON text of a message, or of the field that is the answer. */
export function messageText(
  { spec, binding, writerOptions }: Pick<Route, "spec" | "binding" | "writerOptions">,
  message: MessageShape<DescMessage>,
): string {
  const { responseBody } = binding;
  const { output } = spec.method;
  const json = messageToJson(output, message, writerOptions);
  if (responseBody === undefined) return JSON.stringify(json);
  const name = writerOptions.useProtoFieldName ? responseBody.name : responseBody.jsonName;
  const isSet = isJsonObject(json) && Object.hasOwn(json, name);
  return JSON.stringify(isSet ? json[name] : emptyValue(responseBody, writerOptions));
}

/** The JSON of an unset field: its zero value, or null where that would be a value. */
function emptyValue(field: DescField, options: JsonWriterOptions): JsonValue {
  switch (field.fieldKind) {
    case "list":
      return [];
    case "map":
      return {};
    case "message":
      return hasCustomJson(field.message) ? null : {};
  }
  if (field.presence !== FeatureSet_FieldPresence.IMPLICIT) return null;
  if (field.fieldKind === "enum") return zeroOf(field.enum, options);
  const isLong = integerTypes.get(field.scalar)?.bits === 64;
  const zero = scalarZeroValue(field.scalar, isLong);
  if (typeof zero === "object") return ""; // bytes
  return typeof zero === "bigint" || (isLong && options.int64 === "number") ? 0 : zero;
}

function zeroOf({ typeName, values }: DescEnum, { enumAsInteger }: JsonWriterOptions): JsonValue {
  if (typeName === "google.protobuf.NullValue") return null;
  return enumAsInteger ? 0 : (values.find(({ number }) => number === 0)?.name ?? 0);
}
