import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { isBodiless, problemType, renderProblem } from "../errors/http.ts";
import { bodyTypesOf, type UpdateMask, updateMaskOf } from "../rest/request/update-mask.ts";
import { jsonPath, leafOf, parameterReader } from "../rest/rule/field-path.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { type Binding, selectorOf } from "../rest/rule/rule.ts";
import { commentOf, titleOf } from "./comments.ts";
import { type Components, describe, type JsonObject, joined, mapValues } from "./components.ts";
import {
  isLeft,
  type Operation,
  type PathParameter,
  type Taken,
  takenWithin,
} from "./operations.ts";
import type { ErrorAnswer, OpenApiSettings } from "./options.ts";
import { type Choice, choicesOf } from "./schema/rules.ts";
import { wellKnownSchema } from "./schema/scalar-schema.ts";
import { descriptionOf, isRequired, type Schemas, traitsOf } from "./schema/schema.ts";

export function operationObject(operation: Operation, context: OperationContext): JsonObject {
  const { settings, schemas, errorForm, tag } = context;
  const { fillUpdateMask, statuses, etag } = settings.rest;
  const { method, binding, path, id } = operation;
  const [summary = "", ...paragraphs] = (commentOf(method) || titleOf(method)).split("\n\n");
  const updateMask = fillUpdateMask ? updateMaskOf(method.input, binding) : undefined;
  const status = statuses[selectorOf(method)] ?? 200;
  const own = [
    ...path.parameters.map((parameter) => pathParameter(parameter, schemas, settings.openapi)),
    ...queryParameters(method.input, binding, updateMask?.field, schemas),
  ];
  const requested = requestBody(operation, updateMask, context);
  const success = {
    description: (binding.responseBody && descriptionOf(binding.responseBody)) || "Success",
    ...(!isBodiless(status) && { content: responseContent(operation, context) }),
  };
  const isReading = method.methodKind === "unary" && /^(?:get|head)$/.test(operation.httpMethod);
  const isTagged = etag && isReading && "content" in success;
  const parameters = isTagged ? [...own, ifNoneMatch] : own;
  return {
    operationId: id,
    tags: [tag],
    summary: summary.replace(/\.$/, ""),
    ...describe(paragraphs.join("\n\n"), method.deprecated || method.parent.deprecated),
    ...(parameters.length > 0 && { parameters }),
    ...(requested !== undefined && { requestBody: requested }),
    responses: {
      [status]: { ...success, ...(isTagged && { headers: etagHeader }) },
      ...(isTagged && { "304": notModified }),
      ...errorForm.references,
    },
  };
}

const schema = { type: "string" };

const etagHeader = { ETag: { description: "Changes with the answer.", schema } };

const ifNoneMatch = {
  name: "If-None-Match",
  in: "header",
  description: "The ETag of an answer that the client has, or several with commas between.",
  schema,
};

const notModified = {
  description: "The client has that answer already: `If-None-Match` names its ETag.",
  headers: etagHeader,
};

const segmentSchema = { type: "string", minLength: 1, pattern: "^[^/]+$" };

function pathParameter(
  { name, kind, variable }: PathParameter,
  schemas: Schemas,
  openapi: "3.1" | "3.2",
): JsonObject {
  const field = variable && leafOf(variable.path);
  const notes = {
    whole: "",
    part: `A part of \`${variable?.fieldPath.join(".")}\`.`,
    unbound: "Any segment.",
    rest: restNotes[openapi],
  };
  const isWhole = kind === "whole" && field !== undefined;
  // Only 3.2 can express that slashes are not encoded.
  const isReserved = kind === "rest" && openapi === "3.2";
  return {
    name,
    in: "path",
    required: true,
    ...describe(joined(notes[kind], field && descriptionOf(field)), field?.deprecated),
    ...(isReserved && { allowReserved: true }),
    schema: isWhole ? wholeSchema(field, schemas) : isReserved ? { type: "string" } : segmentSchema,
  };
}

function wholeSchema(field: DescField, schemas: Schemas): JsonObject {
  const schema = bare(schemas.forField(field, "parameter"));
  return schema["type"] === "string" && !("enum" in schema) ? { minLength: 1, ...schema } : schema;
}

const restNotes = {
  "3.1":
    "One segment of the rest of the path. Operations with a number behind their name have as many. A slash in it stays `%2F`.",
  "3.2":
    "The rest of the path. It may have any number of segments, with unencoded slashes between them.",
};

/** @param filled A field that is optional because the gateway fills it in. */
function queryParameters(
  input: DescMessage,
  { body, variables }: Binding,
  filled: DescField | undefined,
  schemas: Schemas,
): JsonObject[] {
  if (body === "*") return [];
  const parameters: JsonObject[] = [];
  let left = fieldsMax;
  const taken = [...variables.map(({ path }) => path), ...(body ? [[body]] : [])];
  add(input, { path: [], messages: [], taken, isRequired: true });
  return parameters;

  function add(message: DescMessage, parent: Parent): void {
    for (const field of message.fields.filter((one) => isLeft(parent.taken, one))) {
      if (left-- <= 0) return;
      const path = [...parent.path, field];
      const isFilled = field === filled;
      const required = parent.isRequired && !isFilled && isRequired(field, "parameter");
      if (parameterReader(field) !== undefined) {
        const others = field.oneof?.fields.map((one) => `\`${one.jsonName}\``) ?? [];
        const oneof = others.length > 1 ? `At most one of ${others.join(", ")}.` : "";
        const notes = joined(descriptionOf(field), oneof, isFilled ? filledNote : "");
        const isDeprecated = path.some(({ deprecated }) => deprecated);
        parameters.push({
          name: jsonPath(path),
          in: "query",
          ...(required && { required: true }),
          // `name[key]=value` for each entry.
          ...(field.fieldKind === "map" && { style: "deepObject", explode: true }),
          ...describe(notes, isDeprecated),
          schema: bare(schemas.forField(field, "parameter")),
        });
      } else if (
        field.fieldKind === "message" &&
        wellKnownSchema(field.message) === undefined &&
        parent.path.length < depthMax - 1 &&
        !parent.messages.includes(field.message)
      ) {
        const messages = [...parent.messages, field.message];
        const taken = takenWithin(parent.taken, field);
        add(field.message, { path, messages, taken, isRequired: required });
      }
    }
  }
}

interface Parent {
  readonly path: readonly DescField[];
  /** The enclosing messages. A message inside itself would never end. */
  readonly messages: readonly DescMessage[];
  readonly taken: Taken;
  readonly isRequired: boolean;
}

/** The depth of nested fields, and all: 40 messages that contain each other would have millions. */
const depthMax = 5;
const fieldsMax = 1000;

const filledNote =
  "Without it, the members of the body that are not zero, or null, are changed. Name a member to set it to zero.";

/** Removes members that the parameter or response itself specifies, or that only properties have. */
function bare(schema: JsonObject): JsonObject {
  const { description, deprecated, readOnly, writeOnly, ...own } = schema;
  return own;
}

export interface OperationContext {
  readonly settings: OpenApiSettings;
  readonly schemas: Schemas;
  readonly components: Components;
  readonly errorForm: ReturnType<typeof errorFormOf>;
  readonly tag: string;
}

/** Any type is accepted, and answered. Generated clients send the one that is named here. */
const bytes = { schema: { type: "string", format: "binary" } };
const binary = { "application/octet-stream": bytes };

/** The request body, if any. It may be empty as an empty message, an empty stream, or no bytes. */
function requestBody(
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
  const content = exampled(schema, components, "readOnly");
  return { required, content: Object.fromEntries(types.map((type) => [type, content])) };
}

function mayBeEmpty(message: DescMessage, taken: Taken, place: "request" | "patch"): boolean {
  const isWanted = (choice: Choice) =>
    place === "request" && choice.isRequired && choice.fields.every((one) => isLeft(taken, one));
  const isNeeded = (field: DescField) => isLeft(taken, field) && isRequired(field, place);
  return !message.fields.some(isNeeded) && !choicesOf(message).some(isWanted);
}

function responseContent(
  { method, binding: { responseBody } }: Operation,
  { schemas, components, errorForm, settings: { openapi } }: OperationContext,
): JsonObject {
  if (isHttpBody(method.output, responseBody)) return { ...binary, "*/*": bytes };
  // Of a reference with members beside it, OpenAPI Generator misspells the type in PHP.
  const schema =
    responseBody === undefined
      ? schemas.forMessage(method.output, "response")
      : orNull(responseBody, bare(schemas.forField(responseBody, "response")));
  const isStream = method.methodKind === "server_streaming";
  if (!isStream) return { "application/json": exampled(schema, components, "writeOnly") };
  const error = errorForm.schema; // the last message of a stream may be one
  // Not `required`: code generators merge the members of `anyOf`, and would require it of messages.
  const hasError = { not: { properties: { error: { type: "boolean" } } } };
  const item = { anyOf: [schema, { type: "object", properties: { error }, ...hasError }] };
  return { ...streamContent(item, openapi), "text/event-stream": events(schema, error, openapi) };
}

/** With the example of its message, less the other side's fields: Postman, Bruno and MSW look here alone. */
function exampled(schema: JsonObject, { schemas }: Components, other: "readOnly" | "writeOnly") {
  const { examples, properties } = schemas[String(schema["$ref"]).split("/").at(-1) ?? ""] ?? {};
  if (!Array.isArray(examples)) return { schema };
  const isSent = ([name]: [string, unknown]) => Object(properties)[name]?.[other] !== true;
  return { schema, example: Object.fromEntries(Object.entries(examples[0] ?? {}).filter(isSent)) };
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
    const data = (schema: JsonObject) => text("application/json", "", schema);
    const event = (name: string, data: JsonObject) => ({
      ...{ properties: { event: { const: name }, data }, required: ["event"] },
    });
    const message = { properties: { event: false, data: data(item) } };
    const anyOf = [message, event("error", data(error)), event("end", { const: "null" })];
    return { itemSchema: { type: "object", required: ["data"], anyOf } };
  }
  const description =
    "Server-sent events. The data of each is one JSON value; that of an event `error` is the error that ended the stream. An event `end` is the last of a whole stream.";
  return { schema: text("application/json", description, item) };
}

function text(contentMediaType: string, description: string, item: JsonObject): JsonObject {
  return { type: "string", contentMediaType, contentSchema: item, ...describe(description) };
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
  // Code is generated from the names: they start with a letter, and no message is named so.
  const start = isProblem ? "Problem" : "Error";
  const nameOf = (status: string) => `${start}${status === "default" ? "Default" : status}`;
  const answers = { ...errors, default: { description: "Any other error." } };
  const named = Object.entries<ErrorAnswer>(answers).map(([status, answer]) => {
    return [nameOf(status), errorResponse(answer, content)];
  });
  const refer = (status: string) => ({ $ref: `#/components/responses/${nameOf(status)}` });
  return {
    schema,
    components: Object.fromEntries(named),
    references: mapValues(answers, (_, status) => refer(status)),
  };
}

function problemSchema(schemas: Schemas, components: Components): JsonObject {
  const { code, details } = StatusSchema.field;
  return components.refer({ full: "google.rpc.Status-Problem", short: "Problem" }, () => ({
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
