/** Describes one operation: its parameters, request and responses. */
import { isBodiless, type RestServiceSettings } from "../rest/options.ts";
import { updateMaskOf } from "../rest/request/update-mask.ts";
import { pagesOf } from "../rest/response/next-page.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { selectorOf } from "../rest/rule/rule.ts";
import { commentOf } from "./comments.ts";
import type { Components } from "./components.ts";
import { mayBeAbsent, requestContent, responseContent } from "./content.ts";
import { type ErrorForm, errorResponses } from "./errors.ts";
import { describe, type JsonObject } from "./json-object.ts";
import type { Operation } from "./operations.ts";
import type { OpenApiSettings } from "./options.ts";
import { pathParameter, queryParameters } from "./paths/parameters.ts";
import type { Schemas } from "./schema/schema.ts";

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

export function additionsOf(
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
