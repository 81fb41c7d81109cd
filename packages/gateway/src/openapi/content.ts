/** Bodies: JSON, streams of JSON, and google.api.HttpBody, which is passed through unchanged. */

import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { hasCustomJson } from "../codec/json-messages.ts";
import { problemType, renderProblem } from "../rest/error.ts";
import type { RestServiceSettings } from "../rest/options.ts";
import { bodyTypesOf, type UpdateMask } from "../rest/request/update-mask.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import type { Binding } from "../rest/rule/rule.ts";
import type { Components, JsonObject, Named } from "./components.ts";
import { Taken } from "./operations.ts";
import type { ErrorAnswer, OpenApiSettings } from "./options.ts";
import { traitsOf } from "./schema/field-notes.ts";
import { choicesOf } from "./schema/rules.ts";
import { isRequired, type Schemas } from "./schema/schema.ts";

interface ContentContext {
  readonly schemas: Schemas;
  readonly components: Components;
  readonly openapi: OpenApiSettings["openapi"];
  /** The schema of errors, because the last message of a stream may be one. */
  readonly errorSchema: JsonObject;
  /** The name of a body that is not a message. */
  readonly bodyName: Named;
}

type MaskedBinding = Binding & { readonly updateMask: UpdateMask | undefined };

/** Any type is accepted. Generated clients send the one that is named here. */
const binary = { "application/octet-stream": { schema: { type: "string", format: "binary" } } };

export function requestContent(
  method: DescMethod,
  binding: MaskedBinding,
  context: ContentContext,
): JsonObject | undefined {
  const isStream = method.methodKind === "client_streaming";
  if (binding.body === undefined) return isStream ? streamContent({}, context) : undefined;
  if (isHttpBody(method.input, binding.body)) return binary;
  const schema = bodySchema(method, binding.body, binding, context);
  if (isStream) return streamContent(schema, context);
  const types = bodyTypesOf(binding.updateMask);
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

/** Whether an empty body is accepted: it is the empty message, an empty stream, or no bytes. */
export function mayBeAbsent(
  { input, methodKind }: DescMethod,
  { body, variables, updateMask }: MaskedBinding,
): boolean {
  if (body === undefined || methodKind === "client_streaming" || isHttpBody(input, body))
    return true;
  const taken = new Taken(variables.map(({ path }) => path));
  if (body === "*") return mayBeEmpty(input, taken);
  const isMessage = body.fieldKind === "message" && !hasCustomJson(body.message);
  if (!isMessage) return !isRequired(body, "request");
  return mayBeEmpty(body.message, taken.within(body), updateMask && "patch");
}

function mayBeEmpty(
  message: DescMessage,
  taken: Taken | undefined,
  place: "request" | "patch" = "request",
): boolean {
  const isLeft = (field: DescField) => taken?.isLeft(field) ?? true;
  return (
    !message.fields.some((field) => isLeft(field) && isRequired(field, place)) &&
    !choicesOf(message).some(
      (choice) => place === "request" && choice.isRequired && choice.fields.every(isLeft),
    )
  );
}

export function responseContent(
  method: DescMethod,
  { responseBody }: Binding,
  context: ContentContext,
): JsonObject {
  if (isHttpBody(method.output, responseBody)) return binary;
  const { schemas, errorSchema } = context;
  const schema =
    responseBody === undefined
      ? schemas.forMessage(method.output, "response")
      : orNull(responseBody, schemas.forField(responseBody, "response"));
  if (method.methodKind !== "server_streaming") return { "application/json": { schema } };
  const failure = { type: "object", properties: { error: errorSchema }, required: ["error"] };
  const item = { anyOf: [schema, failure] };
  return { ...streamContent(item, context), "text/event-stream": events(schema, context) };
}

function bodySchema(
  { input }: DescMethod,
  body: Exclude<Binding["body"], undefined>,
  { variables, updateMask }: MaskedBinding,
  { schemas, components, bodyName }: ContentContext,
): JsonObject {
  const taken = new Taken(variables.map(({ path }) => path));
  if (body === "*") {
    if (variables.length === 0) return schemas.forMessage(input, "request");
    return components.refer(bodyName, () => schemas.forFields(input, "request", taken));
  }
  const place = updateMask === undefined ? "request" : "patch";
  const inner = taken.within(body);
  if (inner === undefined || body.fieldKind !== "message") return schemas.forField(body, place);
  return components.refer(bodyName, () => schemas.forFields(body.message, place, inner));
}

/** The answer for an unset field that has no zero value. */
function orNull(field: Exclude<Binding["responseBody"], undefined>, schema: JsonObject) {
  const hasPresence = field.presence !== FeatureSet_FieldPresence.IMPLICIT;
  const isValue = field.fieldKind !== "message" || hasCustomJson(field.message);
  if (!isValue || !hasPresence || traitsOf(field).isRequired) return schema;
  return { anyOf: [schema, { type: "null" }] };
}

/** The array comes first: of several types, generators of clients type the first. */
function streamContent(item: JsonObject, { openapi }: ContentContext): JsonObject {
  const array = { "application/json": { schema: { type: "array", items: item } } };
  if (openapi === "3.2") return { ...array, "application/x-ndjson": { itemSchema: item } };
  const schema = text("application/x-ndjson", "One JSON value a line.", item);
  return { ...array, "application/x-ndjson": { schema } };
}

function events(item: JsonObject, { openapi, errorSchema }: ContentContext): JsonObject {
  if (openapi === "3.2") {
    const data = (schema: JsonObject) => ({
      type: "string",
      contentMediaType: "application/json",
      contentSchema: schema,
    });
    const message = { properties: { event: false, data: data(item) } };
    const failure = {
      properties: { event: { const: "error" }, data: data(errorSchema) },
      required: ["event"],
    };
    const end = {
      properties: { event: { const: "end" }, data: { const: "" } },
      required: ["event"],
    };
    return { itemSchema: { type: "object", required: ["data"], anyOf: [message, failure, end] } };
  }
  const description =
    "Server-sent events. The data of each is one JSON value; that of an event `error` is the error that ended the stream. An event `end` is the last of a whole stream.";
  return { schema: text("application/json", description, item) };
}

/**
 * A text of several values. OpenAPI 3.1 can describe each value, but not where it is in the text.
 */
function text(contentMediaType: string, description: string, item: JsonObject): JsonObject {
  return { type: "string", contentMediaType, contentSchema: item, description };
}

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
