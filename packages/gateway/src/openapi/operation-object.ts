import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { isBodiless } from "../rest/options.ts";
import { updateMaskOf } from "../rest/request/update-mask.ts";
import { jsonPath, leafOf, parameterReader } from "../rest/rule/field-path.ts";
import { type Binding, selectorOf } from "../rest/rule/rule.ts";
import { commentOf, titleOf } from "./comments.ts";
import { describe, type JsonObject } from "./components.ts";
import { type OperationContext, requestBody, responseContent } from "./content.ts";
import {
  isLeft,
  type Operation,
  type PathParameter,
  type Taken,
  takenWithin,
} from "./operations.ts";
import { descriptionOf } from "./schema/field-notes.ts";
import { wellKnownSchema } from "./schema/scalar-schema.ts";
import { isRequired, type Schemas } from "./schema/schema.ts";

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
    description: "Success",
    ...(!isBodiless(status) && { content: responseContent(operation, context) }),
  };
  const isTagged = etag && isReading(operation) && "content" in success;
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

function isReading({ method, httpMethod }: Operation): boolean {
  return method.methodKind === "unary" && (httpMethod === "get" || httpMethod === "head");
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

function joined(...notes: readonly (string | undefined)[]): string {
  return notes.filter(Boolean).join(" ");
}

/** @param filled A field that is optional because the gateway fills it in. */
function queryParameters(
  input: DescMessage,
  { body, variables }: Binding,
  filled: DescField | undefined,
  schemas: Schemas,
): JsonObject[] {
  if (body === "*") return [];
  const parameters: JsonObject[] = [];
  const taken = [...variables.map(({ path }) => path), ...(body ? [[body]] : [])];
  add(input, { path: [], messages: [], taken, isRequired: true });
  return parameters;

  function add(message: DescMessage, parent: Parent): void {
    for (const field of message.fields.filter((one) => isLeft(parent.taken, one))) {
      const path = [...parent.path, field];
      const isFilled = field === filled;
      const required = parent.isRequired && !isFilled && isRequired(field, "parameter");
      if (parameterReader(field) !== undefined) {
        const others = field.oneof?.fields.map((one) => `\`${one.jsonName}\``) ?? [];
        const oneof = others.length > 1 ? `At most one of ${others.join(", ")}.` : "";
        const notes = joined(descriptionOf(field), oneof, isFilled ? filledNote : "");
        parameters.push({
          name: jsonPath(path),
          in: "query",
          ...(required && { required: true }),
          // `name[key]=value` for each entry.
          ...(field.fieldKind === "map" && { style: "deepObject", explode: true }),
          ...describe(
            notes,
            path.some(({ deprecated }) => deprecated),
          ),
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

/** The depth of nested fields: messages that contain each other would create endless parameters. */
const depthMax = 5;

const filledNote =
  "Without it, the members of the body that are not zero, or null, are changed. Name a member to set it to zero.";

/** Removes members that the parameter itself specifies. */
function bare({ description: _, deprecated: __, ...schema }: JsonObject): JsonObject {
  return schema;
}
