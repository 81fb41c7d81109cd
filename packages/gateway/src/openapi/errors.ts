/** The answers of every operation that are no success. */
import type { JsonObject } from "./json-object.ts";
import type { ErrorAnswer, OpenApiSettings } from "./options.ts";

/** The answers, to be referred to by name. */
export function errorComponents(
  { errors }: Pick<OpenApiSettings, "errors">,
  schema: JsonObject,
): JsonObject {
  const other = { description: "Any other error.", content: jsonContent(schema) };
  const named = statusesOf(errors).map((status) => [
    nameOf(status),
    errorResponse(errors[status] ?? { description: "" }, schema),
  ]);
  return { ...Object.fromEntries(named), [nameOf("default")]: other };
}

/** References to them, for an operation. */
export function errorResponses({ errors }: Pick<OpenApiSettings, "errors">): JsonObject {
  const statuses = [...statusesOf(errors), "default"];
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]),
  );
}

function errorResponse(
  { description, headers, examples }: ErrorAnswer,
  schema: JsonObject,
): JsonObject {
  return {
    description,
    ...(headers !== undefined && { headers: mapValues(headers, headerOf) }),
    content: jsonContent(schema, examples),
  };
}

function headerOf(header: { description?: string; schema?: JsonObject }): JsonObject {
  return { schema: { type: "string" }, ...header };
}

function jsonContent(schema: JsonObject, examples?: ErrorAnswer["examples"]): JsonObject {
  const named = examples && mapValues(examples, (value) => ({ value }));
  return { "application/json": { schema, ...(named !== undefined && { examples: named }) } };
}

/** Names begin with a letter: code is generated from them. */
function nameOf(status: string): string {
  return status === "default" ? "Error" : `Error${status}`;
}

function statusesOf(errors: OpenApiSettings["errors"]): string[] {
  return Object.keys(errors).sort();
}

function mapValues<T, U>(values: { readonly [key: string]: T }, map: (value: T) => U) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
