import type { DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { problemType, renderProblem } from "../errors/http-error.ts";
import { bodyTypesOf, type UpdateMask } from "../rest/request/update-mask.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import type { Binding } from "../rest/rule/rule.ts";
import type { Components, JsonObject } from "./components.ts";
import { isLeft, type Operation, type Taken, takenWithin } from "./operations.ts";
import type { ErrorAnswer, OpenApiSettings } from "./options.ts";
import { traitsOf } from "./schema/field-notes.ts";
import { type Choice, choicesOf } from "./schema/rules.ts";
import { isRequired, type Schemas } from "./schema/schema.ts";

export interface OperationContext {
  readonly settings: OpenApiSettings;
  readonly schemas: Schemas;
  readonly components: Components;
  readonly errorForm: ReturnType<typeof errorFormOf>;
  readonly tag: string;
}

/** Any type is accepted. Generated clients send the one that is named here. */
const binary = { "application/octet-stream": { schema: { type: "string", format: "binary" } } };

/** The request body, if any. It may be empty as an empty message, an empty stream, or no bytes. */
export function requestBody(
  { method: { input, methodKind }, binding: { body, variables }, bodyName }: Operation,
  updateMask: UpdateMask | undefined,
  { schemas, components, settings: { openapi } }: OperationContext,
): JsonObject | undefined {
  const isStream = methodKind === "client_streaming";
  if (body === undefined) {
    const content = streamContent({ type: "null" }, openapi);
    return isStream ? { required: false, content } : undefined;
  }
  if (isHttpBody(input, body)) return { required: false, content: binary };
  const isWhole = body === "*";
  const place = isWhole || updateMask === undefined ? "request" : "patch";
  const message = isWhole ? input : body.fieldKind === "message" ? body.message : undefined;
  const paths = variables.map(({ path }) => path);
  const taken = isWhole ? paths : takenWithin(paths, body);
  const schema =
    message !== undefined && taken.length > 0
      ? components.refer(bodyName, () => schemas.forFields(message, place, taken))
      : isWhole
        ? schemas.forMessage(input, place)
        : schemas.forField(body, place);
  if (isStream) return { required: false, content: streamContent(schema, openapi) };
  const hasMembers = message !== undefined && (isWhole || !hasCustomJsonRepresentation(message));
  const required = hasMembers
    ? !mayBeEmpty(message, taken, place)
    : !isWhole && isRequired(body, "request");
  const types = bodyTypesOf(updateMask);
  return { required, content: Object.fromEntries(types.map((type) => [type, { schema }])) };
}

function mayBeEmpty(message: DescMessage, taken: Taken, place: "request" | "patch"): boolean {
  const isWanted = (choice: Choice) =>
    place === "request" && choice.isRequired && choice.fields.every((one) => isLeft(taken, one));
  return (
    !message.fields.some((field) => isLeft(taken, field) && isRequired(field, place)) &&
    !choicesOf(message).some(isWanted)
  );
}

export function responseContent(
  { method, binding: { responseBody } }: Operation,
  { schemas, errorForm, settings: { openapi } }: OperationContext,
): JsonObject {
  if (isHttpBody(method.output, responseBody)) return binary;
  const schema =
    responseBody === undefined
      ? schemas.forMessage(method.output, "response")
      : orNull(responseBody, schemas.forField(responseBody, "response"));
  if (method.methodKind !== "server_streaming") return { "application/json": { schema } };
  const error = errorForm.schema; // the last message of a stream may be one
  const failure = { type: "object", properties: { error }, required: ["error"] };
  const item = { anyOf: [schema, failure] };
  return { ...streamContent(item, openapi), "text/event-stream": events(schema, error, openapi) };
}

/** The answer for an unset field that has no zero value. */
function orNull(field: Exclude<Binding["responseBody"], undefined>, schema: JsonObject) {
  const hasPresence = field.presence !== FeatureSet_FieldPresence.IMPLICIT;
  const isValue = field.fieldKind !== "message" || hasCustomJsonRepresentation(field.message);
  if (!isValue || !hasPresence || traitsOf(field).isRequired) return schema;
  return { anyOf: [schema, { type: "null" }] };
}

type OpenApiVersion = OpenApiSettings["openapi"];

/** The array comes first: of several types, generators of clients type the first. */
function streamContent(item: JsonObject, openapi: OpenApiVersion): JsonObject {
  const array = { "application/json": { schema: { type: "array", items: item } } };
  if (openapi === "3.2") return { ...array, "application/x-ndjson": { itemSchema: item } };
  const schema = text("application/x-ndjson", "One JSON value a line.", item);
  return { ...array, "application/x-ndjson": { schema } };
}

function events(item: JsonObject, error: JsonObject, openapi: OpenApiVersion): JsonObject {
  if (openapi === "3.2") {
    const data = (contentSchema: JsonObject) => ({
      ...{ type: "string", contentMediaType: "application/json", contentSchema },
    });
    const event = (name: string, data: JsonObject) => ({
      ...{ properties: { event: { const: name }, data }, required: ["event"] },
    });
    const message = { properties: { event: false, data: data(item) } };
    const anyOf = [message, event("error", data(error)), event("end", { const: "" })];
    return { itemSchema: { type: "object", required: ["data"], anyOf } };
  }
  const description =
    "Server-sent events. The data of each is one JSON value; that of an event `error` is the error that ended the stream. An event `end` is the last of a whole stream.";
  return { schema: text("application/json", description, item) };
}

function text(contentMediaType: string, description: string, item: JsonObject): JsonObject {
  return { type: "string", contentMediaType, contentSchema: item, description };
}

/** The schema of errors, and the responses that every operation may return. */
export function errorFormOf(
  { error, errors, rest: { renderError } }: OpenApiSettings,
  schemas: Schemas,
  components: Components,
) {
  const isProblem = renderError === renderProblem;
  const schema = isProblem
    ? problemSchema(schemas, components)
    : schemas.forMessage(error, "response");
  const content = { type: isProblem ? problemType : "application/json", schema };
  // Names must start with a letter, because code is generated from them.
  const start = isProblem ? "Problem" : "Error";
  const nameOf = (status: string) => (status === "default" ? start : `${start}${status}`);
  const answers = Object.entries({ ...errors, default: { description: "Any other error." } });
  return {
    schema,
    components: Object.fromEntries(
      answers.map(([status, answer]) => [nameOf(status), errorResponse(answer, content)]),
    ),
    references: Object.fromEntries(
      answers.map(([status]) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]),
    ),
  };
}

function problemSchema(schemas: Schemas, components: Components): JsonObject {
  const { code, details } = StatusSchema.field;
  const problem = { full: "google.rpc.Status-Problem", short: "Problem" };
  return components.refer(problem, () => ({
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
  }));
}

function errorResponse(
  { description, headers, examples }: ErrorAnswer,
  { type, schema }: { readonly type: string; readonly schema: JsonObject },
): JsonObject {
  const named = examples && { examples: mapValues(examples, (value) => ({ value })) };
  return {
    description,
    ...(headers && {
      headers: mapValues(headers, (header) => ({ schema: { type: "string" }, ...header })),
    }),
    content: { [type]: { schema, ...named } },
  };
}

function mapValues<T, U>(values: { readonly [key: string]: T }, map: (value: T) => U) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
