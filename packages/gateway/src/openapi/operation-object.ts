/** Describes one operation: its parameters, request and responses. */
import type { RestServiceSettings } from "../rest/options.ts";
import { updateMaskOf } from "../rest/request/update-mask.ts";
import { isDeprecated } from "../rest/response/deprecation.ts";
import { isBodiless, successStatusOf } from "../rest/response/success-status.ts";
import { additionsOf } from "./answer-headers.ts";
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
  /** The REST options of its service. */
  readonly rest: RestServiceSettings;
  readonly schemas: Schemas;
  readonly components: Components;
  readonly errorForm: ErrorForm;
  /** The name of its service. */
  readonly tag: string;
}

export function operationObject(
  operation: Operation,
  { settings, rest, schemas, components, errorForm, tag }: OperationContext,
): JsonObject {
  const { method, binding, path, id, bodyName } = operation;
  const [summary = "", ...paragraphs] = commentOf(method).split("\n\n");
  const updateMask = rest.fillUpdateMask ? updateMaskOf(method.input, binding) : undefined;
  const status = successStatusOf(method, settings.rest.statuses);
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
  const { deprecations } = settings.rest;
  const isOld = method.deprecated || method.parent.deprecated || isDeprecated(method, deprecations);
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
