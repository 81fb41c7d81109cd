/** Documents for tests, in a form that is easy to inspect. */

import type { DescService } from "@bufbuild/protobuf";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { createOpenApiDocument, type OpenApiOptions } from "../../src/openapi/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into at will
export type Any = any;

export function documentOf(
  services: DescService | readonly DescService[],
  options?: OpenApiOptions,
) {
  const list = Array.isArray(services) ? services : [services];
  return JSON.parse(JSON.stringify(createOpenApiDocument(list, options))) as Any;
}

/** The operation with an id, `BookService_GetBook` or `GetBook`, and its path and method. */
export function operationOf(document: Any, id: string) {
  for (const [path, item] of Object.entries<Any>(document.paths)) {
    for (const [httpMethod, operation] of Object.entries<Any>(item)) {
      if (`_${operation.operationId}`.endsWith(`_${id}`)) return { path, httpMethod, ...operation };
    }
  }
  throw new Error(`no operation ${id}`);
}

/** One for all: the dialect itself takes longer to compile than a schema. */
const ajv = addFormats.default(new Ajv2020({ strict: false, logger: false }));

/** Returns a validator for a schema of the document. */
export function validatorOf(document: Any, schema: object): ValidateFunction {
  return ajv.compile({ ...schema, components: document.components });
}
