/** The error responses of every operation. */
import type { JsonObject } from "./json-object.ts";
import type { ErrorAnswer, OpenApiSettings } from "./options.ts";

/** How a service renders errors. */
export interface ErrorForm {
  /** The prefix of their names. */
  readonly name: string;
  readonly contentType: string;
  readonly schema: JsonObject;
}

/** The error responses of all forms, referred to by name. */
export function errorComponents(
  { errors }: Pick<OpenApiSettings, "errors">,
  forms: readonly ErrorForm[],
): JsonObject {
  const named = forms.flatMap((form) => {
    const other = { description: "Any other error.", content: contentOf(form) };
    return [
      ...statusesOf(errors).map((status) => [
        nameOf(status, form),
        errorResponse(errors[status] ?? { description: "" }, form),
      ]),
      [nameOf("default", form), other],
    ];
  });
  return Object.fromEntries(named);
}

/** References to the error responses, for an operation. */
export function errorResponses(
  { errors }: Pick<OpenApiSettings, "errors">,
  form: ErrorForm,
): JsonObject {
  const statuses = [...statusesOf(errors), "default"];
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${nameOf(status, form)}` }]),
  );
}

function errorResponse(
  { description, headers, examples }: ErrorAnswer,
  form: ErrorForm,
): JsonObject {
  return {
    description,
    ...(headers !== undefined && { headers: mapValues(headers, headerOf) }),
    content: contentOf(form, examples),
  };
}

function headerOf(header: { description?: string; schema?: JsonObject }): JsonObject {
  return { schema: { type: "string" }, ...header };
}

function contentOf(
  { contentType, schema }: ErrorForm,
  examples?: ErrorAnswer["examples"],
): JsonObject {
  const named = examples && mapValues(examples, (value) => ({ value }));
  return { [contentType]: { schema, ...(named !== undefined && { examples: named }) } };
}

/** Names must start with a letter, because code is generated from them. */
function nameOf(status: string, { name }: ErrorForm): string {
  return status === "default" ? name : `${name}${status}`;
}

function statusesOf(errors: OpenApiSettings["errors"]): string[] {
  return Object.keys(errors).sort();
}

function mapValues<T, U>(values: { readonly [key: string]: T }, map: (value: T) => U) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
