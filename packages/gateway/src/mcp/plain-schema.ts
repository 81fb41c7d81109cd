/** Schemas for clients that refuse `$ref`, `anyOf` and `not`. */
import type { JsonObject } from "../openapi/json-object.ts";

/**
 * The same schema with its references in place. A message that contains itself is any object from
 * there on, and conditions that need `not` are left to the server. Of several alternatives, what
 * they have in common remains. If that has no type, arguments take the first, and results any.
 */
export function plainSchema(
  schema: JsonObject,
  definitions: Readonly<Record<string, JsonObject>>,
  place: "request" | "response",
): JsonObject {
  function plain(value: unknown, open: readonly string[]): JsonObject {
    const { $ref, anyOf, not: _not, ...rest } = value as JsonObject;
    const members = mapValues(rest, (one, keyword) => {
      if (holders.has(keyword)) return mapValues(one as JsonObject, (each) => plain(each, open));
      if (Array.isArray(one) && keyword === "allOf") return one.map((each) => plain(each, open));
      const isSchema = typeof one === "object" && schemas.has(keyword);
      return isSchema ? plain(one, open) : one;
    });
    if (typeof $ref === "string") return { ...resolve($ref, open), ...members };
    if (!Array.isArray(anyOf)) return members;
    return { ...merge(anyOf.map((one) => plain(one, open))), ...members };
  }

  function resolve($ref: string, open: readonly string[]): JsonObject {
    const name = $ref.slice("#/$defs/".length);
    if (open.includes(name)) return { type: "object" };
    return plain(definitions[name] ?? {}, [...open, name]);
  }

  function merge(alternatives: readonly JsonObject[]): JsonObject {
    const [first = {}, ...others] = alternatives.filter(({ type }) => type !== "null");
    const isCommon = ([keyword, value]: [string, unknown]) =>
      others.every((one) => JSON.stringify(one[keyword]) === JSON.stringify(value));
    const common = Object.fromEntries(Object.entries(first).filter(isCommon));
    const mayBeNull = others.length + 1 < alternatives.length;
    if (place === "response") return mayBeNull || !("type" in common) ? {} : common;
    return "type" in common ? common : first;
  }

  return plain(schema, []);
}

/** Keywords whose members are schemas; those whose value is one. Others hold data. */
const holders: ReadonlySet<string> = new Set(["properties"]);
const schemas: ReadonlySet<string> = new Set(["items", "additionalProperties", "propertyNames"]);

function mapValues(
  object: JsonObject,
  change: (value: unknown, name: string) => unknown,
): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, change(value, name)]),
  );
}
