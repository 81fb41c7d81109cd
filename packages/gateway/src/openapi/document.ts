import type { DescService } from "@bufbuild/protobuf";
import { assertServed } from "../rest/options.ts";
import { ofRule } from "../rest/rule/rule.ts";
import { commentOf } from "./comments.ts";
import { createComponents, createNames, describe, type JsonObject } from "./components.ts";
import { errorFormOf, type OperationContext, operationObject } from "./operation-object.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { type OpenApiOptions, resolveOpenApiOptions } from "./options.ts";
import { createSchemas } from "./schema/schema.ts";

/**
 * Describes the REST API of the services, with the comments that the descriptors include: those of a
 * compiler do, generated code does not.
 * @throws {RuleError} for a rule that cannot be served or described, {Error} for an invalid option.
 * @throws {TypeError} for a REST option by service or method that refers to nothing that is served.
 */
export function createOpenApiDocument(
  services: readonly DescService[],
  options: OpenApiOptions = {},
): { [key: string]: unknown } {
  const settings = resolveOpenApiOptions(options);
  const methods = services.flatMap((service) => service.methods);
  assertServed(settings.rest, methods);
  const operations = operationsOf(methods, settings);
  const { rest, securitySchemes, security, examples, textPattern } = settings;
  const { int64, ignoreUnknownFields } = rest;
  const components = createComponents(settings.names);
  const tags = createNames(settings.names);
  const schemas = createSchemas(components, { int64, ignoreUnknownFields, examples, textPattern });
  const errorForm = errorFormOf(settings, schemas, components);
  const context = { settings, schemas, components, errorForm };
  const tagOf = ({ typeName: full, name: short }: DescService) => tags.nameOf({ full, short });
  const served = new Map(operations.map(({ method: { parent } }) => [parent, tagOf(parent)]));
  const paths: { [path: string]: JsonObject } = {};
  for (const one of operations) {
    const tag = tagOf(one.method.parent);
    ofRule(rest, () => addOperation(paths, one, { ...context, tag }), one.method);
  }
  for (const name of Object.keys(examples)) {
    if (!components.has(name)) throw new Error(`examples: the document has no message ${name}`);
  }
  const names = [...served.keys()].map(({ typeName }) => typeName).join(", ");
  const { title = names, version, servers, license } = settings;
  const licensed = license !== undefined && { license: { name: license, identifier: license } };
  return {
    openapi: `${settings.openapi}.0`,
    info: { title, version, ...licensed },
    servers,
    security,
    tags: [...served].map(([service, name]) => ({ name, ...describe(commentOf(service)) })),
    paths,
    components: {
      ...(Object.keys(securitySchemes).length > 0 && { securitySchemes }),
      responses: errorForm.components,
      schemas: components.schemas,
    },
  };
}

function addOperation(paths: JsonObject, one: Operation, context: OperationContext): void {
  const item = (paths[one.path.path] ?? {}) as JsonObject;
  const { httpMethod, id } = one;
  if (httpMethod === httpMethod.toLowerCase()) {
    item[httpMethod] = operationObject(one, context);
  } else if (context.settings.openapi === "3.2") {
    const others = item["additionalOperations"] as JsonObject | undefined;
    item["additionalOperations"] = { ...others, [httpMethod]: operationObject(one, context) };
  } else {
    const note = `OpenAPI 3.1 cannot describe the method ${httpMethod} here: ${id}.`;
    item["description"] = [item["description"], note].filter(Boolean).join(" ");
  }
  paths[one.path.path] = item;
}
