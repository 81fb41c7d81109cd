/** The error responses of every operation. */
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { problemType, renderProblem } from "../rest/error.ts";
import type { RestServiceSettings } from "../rest/options.ts";
import type { Components } from "./components.ts";
import type { JsonObject } from "./json-object.ts";
import type { ErrorAnswer, OpenApiSettings } from "./options.ts";
import type { Schemas } from "./schema/schema.ts";

/** How a service renders errors. */
export interface ErrorForm {
  /** The prefix of their names. */
  readonly name: string;
  readonly contentType: string;
  readonly schema: JsonObject;
}

export function errorFormOf(
  { renderError }: RestServiceSettings,
  { error }: OpenApiSettings,
  schemas: Schemas,
  components: Components,
): ErrorForm {
  if (renderError !== renderProblem) {
    const schema = schemas.forMessage(error, "response");
    return { name: "Error", contentType: "application/json", schema };
  }
  const problem = { full: "google.rpc.Status-Problem", short: "Problem" };
  const schema = components.refer(problem, () => problemSchema(schemas));
  return { name: "Problem", contentType: problemType, schema };
}

function problemSchema(schemas: Schemas): JsonObject {
  const { code, details } = StatusSchema.field;
  return {
    type: "object",
    description: "RFC 9457, with members of google.rpc.Status.",
    properties: {
      type: { type: "string", format: "uri-reference" },
      title: { type: "string", description: "That of the status." },
      status: { type: "integer", format: "int32", description: "The status of HTTP." },
      detail: { type: "string", description: "What is wrong, for people to read." },
      code: schemas.forField(code, "response"),
      details: schemas.forField(details, "response"),
    },
    required: ["type", "status", "code", "details"],
  };
}

export function errorComponents(
  { errors }: Pick<OpenApiSettings, "errors">,
  forms: readonly ErrorForm[],
): JsonObject {
  const named = forms.flatMap((form) => {
    const other = { description: "Any other error.", content: contentOf(form) };
    return [
      ...Object.entries(errors).map(([status, answer]) => [
        nameOf(status, form),
        errorResponse(answer, form),
      ]),
      [nameOf("default", form), other],
    ];
  });
  return Object.fromEntries(named);
}

export function errorResponses(
  { errors }: Pick<OpenApiSettings, "errors">,
  form: ErrorForm,
): JsonObject {
  return Object.fromEntries(
    [...Object.keys(errors), "default"].map((status) => [
      status,
      { $ref: `#/components/responses/${nameOf(status, form)}` },
    ]),
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

function mapValues<T, U>(values: { readonly [key: string]: T }, map: (value: T) => U) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
