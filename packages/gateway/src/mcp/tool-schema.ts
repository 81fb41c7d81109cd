/** JSON Schema of a tool's arguments and of its structured content. */
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { Components } from "../openapi/components.ts";
import type { JsonObject } from "../openapi/json-object.ts";
import { Schemas } from "../openapi/schema/schema.ts";
import { hasCustomJson } from "../rest/rule/field-path.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import type { McpSettings } from "./options.ts";
import { plainSchema } from "./plain-schema.ts";

type Options = Pick<McpSettings, "textPattern" | "schemas">;

/** The member that holds a value that is no JSON object, because arguments and results must be. */
export const valueMember = "value";

/** Whether the JSON of a message is an object. */
export function isObject(message: DescMessage): boolean {
  const { typeName } = message;
  const isOpen = typeName === "google.protobuf.Struct" || typeName === "google.protobuf.Any";
  return isOpen || !hasCustomJson(message);
}

export function inputSchema({ input }: DescMethod, options: Options): JsonObject {
  return rootSchema(input, "request", options);
}

/** A stream is one object with its messages. A google.api.HttpBody is content, and has no schema. */
export function outputSchema(
  { output, methodKind }: DescMethod,
  options: Options,
): JsonObject | undefined {
  if (methodKind !== "server_streaming") {
    return isHttpBody(output, undefined) ? undefined : rootSchema(output, "response", options);
  }
  return withDefinitions(options, "response", (schemas) => ({
    type: "object",
    properties: {
      messages: { type: "array", items: schemas.forMessage(output, "response") },
      truncated: {
        type: "boolean",
        description: "Whether the stream went on: these are only its first messages.",
      },
    },
    required: ["messages", "truncated"],
  }));
}

type Place = "request" | "response";

function rootSchema(message: DescMessage, place: Place, options: Options): JsonObject {
  return withDefinitions(options, place, (schemas) => {
    // The root must be an object, and not a reference to one.
    if (!hasCustomJson(message)) return schemas.forFields(message, place);
    if (isObject(message)) return { type: "object", additionalProperties: true };
    return {
      type: "object",
      properties: { [valueMember]: schemas.forMessage(message, place) },
      required: [valueMember],
      ...(place === "request" && { additionalProperties: false }),
    };
  });
}

function withDefinitions(
  { textPattern, schemas: form }: Options,
  place: Place,
  create: (schemas: Schemas) => JsonObject,
): JsonObject {
  const components = new Components("full", "#/$defs", true);
  const schemas = new Schemas(components, {
    int64: "string",
    ignoreUnknownFields: false,
    examples: {},
    textPattern,
    isForModels: true,
    variants: {},
  });
  const schema = create(schemas);
  const { schemas: definitions } = components;
  if (form === "plain") return plainSchema(schema, definitions, place);
  return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions };
}
