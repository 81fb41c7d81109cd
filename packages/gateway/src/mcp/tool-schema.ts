/** JSON Schema of a tool's arguments and of its structured content. */
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { createComponents, type JsonObject } from "../openapi/components.ts";
import { createSchemas, type Schemas } from "../openapi/schema/schema.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import type { McpSettings } from "./options.ts";

/** The member that holds a value that is no JSON object, because arguments and results must be. */
export const valueMember = "value";

/** Whether the JSON of a message is an object. */
export function isObject(message: DescMessage): boolean {
  return (
    !hasCustomJsonRepresentation(message) ||
    /^google\.protobuf\.(?:Struct|Any)$/.test(message.typeName)
  );
}

export function inputSchema({ input }: DescMethod, settings: McpSettings): JsonObject {
  return complete("request", settings, (schemas) => rootSchema(input, "request", schemas));
}

/** A stream is one object with its messages. A google.api.HttpBody is content, and has no schema. */
export function outputSchema(
  { output, methodKind }: DescMethod,
  settings: McpSettings,
): JsonObject | undefined {
  const isStream = methodKind === "server_streaming";
  if (!isStream && isHttpBody(output, undefined)) return undefined;
  const description = "Whether the stream went on: these are only its first messages.";
  const streamSchema = (schemas: Schemas) => ({
    type: "object",
    properties: {
      messages: { type: "array", items: schemas.forMessage(output, "response") },
      truncated: { type: "boolean", description },
    },
    required: ["messages", "truncated"],
  });
  return complete("response", settings, (schemas) =>
    isStream ? streamSchema(schemas) : rootSchema(output, "response", schemas),
  );
}

type Place = "request" | "response";

/** The root must be an object, and not a reference to one. */
function rootSchema(message: DescMessage, place: Place, schemas: Schemas): JsonObject {
  if (!hasCustomJsonRepresentation(message)) return schemas.forFields(message, place);
  if (isObject(message)) return { type: "object", additionalProperties: true };
  return {
    type: "object",
    properties: { [valueMember]: schemas.forMessage(message, place) },
    required: [valueMember],
    ...(place === "request" && { additionalProperties: false }),
  };
}

/** A schema with the definitions that it refers to. */
function complete(
  place: Place,
  { textPattern, schemas: form }: McpSettings,
  create: (schemas: Schemas) => JsonObject,
): JsonObject {
  const components = createComponents("full", "#/$defs", true);
  const own = { int64: "string", isForModels: true, textPattern } as const;
  const others = { ignoreUnknownFields: false, examples: {} };
  const schema = create(createSchemas(components, { ...own, ...others }));
  const { schemas: definitions } = components;
  if (form === "plain") return plainSchema(schema, definitions, place);
  return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions };
}

/**
 * The same schema, for clients that refuse `$ref`, `anyOf` and `not`: its references are in place. A
 * message that contains itself is any object from there on. Conditions that need `not`, or differ
 * between alternatives, are left to the server. Of several types, arguments take the first, and
 * results any.
 */
function plainSchema(
  schema: JsonObject,
  definitions: Readonly<Record<string, JsonObject>>,
  place: Place,
): JsonObject {
  function plain(value: unknown, open: readonly string[]): JsonObject {
    const { $ref, anyOf, not: _not, ...rest } = value as JsonObject;
    const members = mapValues(rest, (one, keyword) => {
      if (keyword === "properties")
        return mapValues(one as JsonObject, (each) => plain(each, open));
      if (keyword === "allOf") return (one as unknown[]).map((each) => plain(each, open));
      return schemaKeywords.includes(keyword) && typeof one === "object" ? plain(one, open) : one;
    });
    if (typeof $ref === "string") return { ...resolve($ref, open), ...members };
    if (!Array.isArray(anyOf) || place === "response") return members;
    const typed = anyOf.filter(({ type }) => type !== "null").map((one) => plain(one, open));
    const [first = {}, ...others] = typed;
    const isOneType = others.length > 0 && others.every(({ type }) => type === first["type"]);
    return { ...(isOneType ? { type: first["type"] } : first), ...members };
  }

  function resolve($ref: string, open: readonly string[]): JsonObject {
    const name = $ref.slice("#/$defs/".length);
    return open.includes(name) ? { type: "object" } : plain(definitions[name], [...open, name]);
  }

  return plain(schema, []);
}

/** Keywords whose value is a schema. Others hold data. */
const schemaKeywords = ["items", "additionalProperties", "propertyNames"];

function mapValues(object: JsonObject, change: (value: unknown, name: string) => unknown) {
  return Object.fromEntries(Object.entries(object).map(([name, one]) => [name, change(one, name)]));
}
