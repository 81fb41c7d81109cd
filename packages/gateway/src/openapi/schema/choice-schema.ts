/** At most one member of a oneof may be present. */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { JsonObject } from "../json-object.ts";
import { choicesOf } from "../validate/options.ts";
import type { Place } from "./scalar-schema.ts";

/**
 * What an object must not contain. Expressed with `not`, because code generators create types for
 * the alternatives of `oneOf` and `anyOf`.
 */
export function choiceSchema(
  message: DescMessage,
  fields: readonly DescField[],
  place: Place,
): JsonObject {
  const refused = choicesOf(message).flatMap((choice) => {
    const left = choice.fields.filter((field) => fields.includes(field));
    const names = left.map(({ jsonName }) => jsonName);
    const pairs = names.flatMap((one, i) => names.slice(i + 1).map((other) => having(one, other)));
    const isWhole = left.length === choice.fields.length;
    if (place === "response" || place === "patch" || !choice.isRequired || !isWhole) return pairs;
    return [...pairs, { not: anyOf(names.map((name) => having(name))) }];
  });
  return refused.length === 0 ? {} : { not: anyOf(refused) };
}

/**
 * An object that has these members. Linters require `required` members to be listed as properties.
 */
function having(...names: readonly string[]): JsonObject {
  return { properties: Object.fromEntries(names.map((name) => [name, {}])), required: names };
}

function anyOf(schemas: readonly JsonObject[]): JsonObject {
  const [only] = schemas;
  return only !== undefined && schemas.length === 1 ? only : { anyOf: schemas };
}
