import { ScalarType } from "@bufbuild/protobuf";
import type { JsonObject } from "../json-object.ts";
import type { FieldRules } from "../validate/options.ts";
import { constrain } from "../validate/rules.ts";
import {
  integerFormat,
  integerText,
  type Place,
  rangeOf,
  textConditions,
} from "./scalar-schema.ts";

/** The schema of a map's keys. In JSON, they are text, whatever their type. */
export function mapKeySchema(
  type: ScalarType,
  place: Place,
  rules: FieldRules | undefined,
  textPattern: string | undefined,
): JsonObject {
  const schema = keySchema(type, place, textPattern);
  const isRuled = rules !== undefined && type !== ScalarType.BOOL;
  // A parameter is text, too.
  const names = isRuled ? constrain(schema, rules, { scalar: type }, "parameter") : schema;
  return Object.keys(names).length === 0 ? {} : { propertyNames: names };
}

function keySchema(type: ScalarType, place: Place, textPattern: string | undefined): JsonObject {
  const range = rangeOf(type);
  if (range !== undefined) {
    const { pattern } = integerText(integerFormat(type), range);
    return { pattern };
  }
  if (type === ScalarType.BOOL) return { enum: ["true", "false"] };
  return textConditions(place, textPattern);
}
