/** Describes one operation: its parameters, request and responses. */

import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { RestServiceSettings } from "../rest/options.ts";
import { updateMaskOf } from "../rest/request/update-mask.ts";
import { pagesOf } from "../rest/response/next-page.ts";
import { isBodiless } from "../rest/response/success-status.ts";
import { jsonPath, leafOf, parameterReader } from "../rest/rule/field-path.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { type Binding, selectorOf } from "../rest/rule/rule.ts";
import { commentOf } from "./comments.ts";
import { type Components, describe, type JsonObject } from "./components.ts";
import {
  type ErrorForm,
  errorResponses,
  mayBeAbsent,
  requestContent,
  responseContent,
} from "./content.ts";
import { type Operation, type PathParameter, Taken } from "./operations.ts";
import type { OpenApiSettings } from "./options.ts";
import { descriptionOf } from "./schema/field-notes.ts";
import { wellKnownSchema } from "./schema/scalar-schema.ts";
import { isRequired, type Schemas } from "./schema/schema.ts";

export interface OperationContext {
  readonly settings: OpenApiSettings;
  readonly rest: RestServiceSettings;
  readonly schemas: Schemas;
  readonly components: Components;
  readonly errorForm: ErrorForm;
  readonly tag: string;
}

export function operationObject(
  operation: Operation,
  { settings, rest, schemas, components, errorForm, tag }: OperationContext,
): JsonObject {
  const { method, binding, path, id, bodyName } = operation;
  const [summary = "", ...paragraphs] = commentOf(method).split("\n\n");
  const updateMask = rest.fillUpdateMask ? updateMaskOf(method.input, binding) : undefined;
  const { statuses, deprecations } = settings.rest;
  const status = statuses[selectorOf(method)] ?? 200;
  const { openapi } = settings;
  const context = { schemas, components, openapi, errorSchema: errorForm.schema, bodyName };
  const own = [
    ...path.parameters.map((parameter) => pathParameter(parameter, schemas, openapi)),
    ...queryParameters(method.input, { ...binding, filled: updateMask?.field }, schemas),
  ];
  const content = requestContent(method, { ...binding, updateMask }, context);
  const success = {
    description: "Success",
    ...(!isBodiless(status) && { content: responseContent(method, binding, context) }),
  };
  const { headers, responses, ...more } = additionsOf(operation, rest, success);
  const parameters = [...own, ...more.parameters];
  const isOld = method.deprecated || method.parent.deprecated || selectorOf(method) in deprecations;
  return {
    operationId: id,
    tags: [tag],
    ...(summary !== "" && { summary: summary.replace(/\.$/, "") }),
    ...describe(paragraphs.join("\n\n"), isOld),
    ...(parameters.length > 0 && { parameters }),
    ...(content !== undefined && {
      requestBody: { required: !mayBeAbsent(method, { ...binding, updateMask }), content },
    }),
    responses: {
      [status]: { ...success, ...(Object.keys(headers).length > 0 && { headers }) },
      ...responses,
      ...errorResponses(settings, errorForm),
    },
  };
}

interface Additions {
  readonly parameters: readonly JsonObject[];
  readonly headers: JsonObject;
  readonly responses: JsonObject;
}

function additionsOf(
  { method, binding, httpMethod }: Operation,
  { etag, ranges }: RestServiceSettings,
  success: JsonObject,
): Additions {
  const isGet = httpMethod === "get" || httpMethod === "head";
  const isWhole = method.methodKind === "unary" && isGet && "content" in success;
  const isTagged = isWhole && etag;
  const isDivisible =
    isWhole && ranges && httpMethod === "get" && isHttpBody(method.output, binding.responseBody);
  const hasPages = isWhole && pagesOf(method, binding) !== undefined;
  const tag = isTagged && { ETag: header("Changes with the answer.") };
  const link = hasPages && { Link: header('The next page, if there is one: `rel="next"`.') };
  return {
    parameters: [
      ...(isTagged ? [ifNoneMatch] : []),
      ...(isDivisible ? [parameter("Range", "The part to answer: `bytes=0-99`.")] : []),
    ],
    headers: { ...tag, ...link },
    responses: {
      ...(isDivisible && {
        "206": {
          ...success,
          description: "The part of `Range`.",
          headers: { ...tag, "Content-Range": header("Which part it is, and of how many bytes.") },
        },
      }),
      ...(isTagged && {
        "304": {
          description: "The client has that answer already: `If-None-Match` names its ETag.",
          headers: { ...tag },
        },
      }),
    },
  };
}

const schema = { type: "string" };

function header(description: string): JsonObject {
  return { description, schema };
}

function parameter(name: string, description: string): JsonObject {
  return { name, in: "header", description, schema };
}

const ifNoneMatch = parameter(
  "If-None-Match",
  "The ETag of an answer that the client has, or several with commas between.",
);

const segmentSchema = { type: "string", minLength: 1, pattern: "^[^/]+$" };

function pathParameter(
  parameter: PathParameter,
  schemas: Schemas,
  openapi: "3.1" | "3.2",
): JsonObject {
  const { name, kind, variable } = parameter;
  const field = variable === undefined ? undefined : leafOf(variable.path);
  return {
    name,
    in: "path",
    required: true,
    ...describe(pathDescription(parameter, field, openapi), field?.deprecated),
    // Only 3.2 can express that slashes are not encoded.
    ...(kind === "rest" && openapi === "3.2" && { allowReserved: true }),
    schema:
      kind === "whole" && field !== undefined
        ? wholeSchema(field, schemas)
        : kind === "rest" && openapi === "3.2"
          ? { type: "string" }
          : segmentSchema,
  };
}

function wholeSchema(field: DescField, schemas: Schemas): JsonObject {
  const schema = bare(schemas.forField(field, "parameter"));
  return schema["type"] === "string" && !("enum" in schema) ? { minLength: 1, ...schema } : schema;
}

function pathDescription(
  { kind, variable }: PathParameter,
  field: DescField | undefined,
  openapi: "3.1" | "3.2",
): string {
  const name = variable?.fieldPath.join(".") ?? "";
  const comment = field === undefined ? "" : descriptionOf(field);
  switch (kind) {
    case "whole":
      return comment;
    case "part":
      return joined(`A part of \`${name}\`.`, comment);
    case "unbound":
      return "Any segment.";
    case "rest":
      return joined(restNotes[openapi], comment);
  }
}

const restNotes = {
  "3.1":
    "One segment of the rest of the path. Operations with a number behind their name have as many. A slash in it stays `%2F`.",
  "3.2":
    "The rest of the path. It may have any number of segments, with unencoded slashes between them.",
};

function joined(...notes: readonly string[]): string {
  return notes.filter((note) => note !== "").join(" ");
}

function queryParameters(
  input: DescMessage,
  {
    body,
    variables,
    filled,
  }: Pick<Binding, "body" | "variables"> & {
    /** A field that is optional because the gateway fills it in. */
    readonly filled?: DescField | undefined;
  },
  schemas: Schemas,
): JsonObject[] {
  if (body === "*") return [];
  const parameters: JsonObject[] = [];
  const taken = new Taken([...variables.map(({ path }) => path), ...(body ? [[body]] : [])]);
  add(input, { path: [], messages: [], taken, isRequired: true });
  return parameters;

  function add(message: DescMessage, parent: Parent): void {
    for (const field of message.fields.filter((one) => parent.taken?.isLeft(one) ?? true)) {
      const path = [...parent.path, field];
      const required = parent.isRequired && field !== filled && isRequired(field, "parameter");
      if (parameterReader(field) !== undefined) {
        const note = field === filled ? filledNote : "";
        parameters.push(queryParameter(path, { required, note }, schemas));
      } else if (hasFields(field) && mayHold(parent, field.message)) {
        const messages = [...parent.messages, field.message];
        const taken = parent.taken?.within(field);
        add(field.message, { path, messages, taken, isRequired: required });
      }
    }
  }
}

interface Parent {
  readonly path: readonly DescField[];
  /** The enclosing messages. A message inside itself would never end. */
  readonly messages: readonly DescMessage[];
  readonly taken: Taken | undefined;
  readonly isRequired: boolean;
}

const filledNote =
  "Without it, the members of the body that are not zero, or null, are changed. Name a member to set it to zero.";

function queryParameter(
  path: readonly DescField[],
  { required, note: other }: { readonly required: boolean; readonly note: string },
  schemas: Schemas,
): JsonObject {
  const name = jsonPath(path);
  const field = path.at(-1);
  if (field === undefined) return {};
  const others = field.oneof?.fields.map((one) => `\`${one.jsonName}\``) ?? [];
  const note = others.length > 1 ? `At most one of ${others.join(", ")}.` : "";
  return {
    name,
    in: "query",
    ...(required && { required: true }),
    // `name[key]=value` for each entry.
    ...(field.fieldKind === "map" && { style: "deepObject", explode: true }),
    ...describe(
      joined(descriptionOf(field), note, other),
      path.some(({ deprecated }) => deprecated),
    ),
    schema: bare(schemas.forField(field, "parameter")),
  };
}

/** Removes what the parameter itself specifies. */
function bare({ description: _, deprecated: __, ...schema }: JsonObject): JsonObject {
  return schema;
}

/** The depth of nested fields: messages that contain each other would create endless parameters. */
const depthMax = 5;

function mayHold({ path, messages }: Parent, message: DescMessage): boolean {
  return path.length < depthMax - 1 && !messages.includes(message);
}

function hasFields(field: DescField): field is DescField & { message: DescMessage } {
  const isOne = field.fieldKind === "message";
  return isOne && wellKnownSchema(field.message) === undefined;
}
