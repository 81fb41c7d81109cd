/** Describes one operation: its parameters, request and responses. */
import type { RestServiceSettings } from "../rest/options.ts";
import { updateMaskOf } from "../rest/request/update-mask.ts";
import { isBodiless, successStatusOf } from "../rest/response/success-status.ts";
import { commentOf } from "./comments.ts";
import type { Components } from "./components.ts";
import { mayBeAbsent, requestContent, responseContent } from "./content.ts";
import { ifNoneMatch, notModified, tagHeaders } from "./entity-tags.ts";
import { type ErrorForm, errorResponses } from "./errors.ts";
import type { JsonObject } from "./json-object.ts";
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
  { method, binding, httpMethod, path, id, bodyName }: Operation,
  { settings, rest, schemas, components, errorForm, tag }: OperationContext,
): JsonObject {
  const [summary = "", ...paragraphs] = commentOf(method).split("\n\n");
  const updateMask = rest.fillUpdateMask ? updateMaskOf(method.input, binding) : undefined;
  const isTagged =
    rest.etag && method.methodKind === "unary" && ["get", "head"].includes(httpMethod);
  const status = successStatusOf(method, settings.rest.statuses);
  const hasBody = !isBodiless(status);
  const parameters = [
    ...path.parameters.map((parameter) => pathParameter(parameter, schemas, settings.openapi)),
    ...queryParameters(method.input, { ...binding, filled: updateMask?.field }, schemas),
    ...(isTagged && hasBody ? [ifNoneMatch] : []),
  ];
  const { openapi } = settings;
  const context = { schemas, components, openapi, errorSchema: errorForm.schema, bodyName };
  const content = requestContent(method, { ...binding, updateMask }, context);
  const success = {
    description: "Success",
    ...(isTagged && hasBody && { headers: tagHeaders }),
    ...(hasBody && { content: responseContent(method, binding, context) }),
  };
  return {
    operationId: id,
    tags: [tag],
    ...(summary !== "" && { summary: summary.replace(/\.$/, "") }),
    ...(paragraphs.length > 0 && { description: paragraphs.join("\n\n") }),
    ...((method.deprecated || method.parent.deprecated) && { deprecated: true }),
    ...(parameters.length > 0 && { parameters }),
    ...(content !== undefined && {
      requestBody: { required: !mayBeAbsent(method, { ...binding, updateMask }), content },
    }),
    responses: {
      [status]: success,
      ...(isTagged && hasBody && { "304": notModified }),
      ...errorResponses(settings, errorForm),
    },
  };
}
