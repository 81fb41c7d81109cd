import type { DescService } from "@bufbuild/protobuf";
import { assertServed, type RestServiceSettings } from "../rest/options.ts";
import { commentOf } from "./comments.ts";
import { Components, describe, type JsonObject, Names } from "./components.ts";
import { errorComponents, errorFormOf, type OperationContext } from "./content.ts";
import { operationObject } from "./operation-object.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { type OpenApiOptions, type OpenApiSettings, resolveOpenApiOptions } from "./options.ts";
import { Schemas } from "./schema/schema.ts";

/**
 * Describes the REST API of the services. Comments become descriptions if the descriptors include
 * them: those of a compiler do, generated code does not.
 *
 * @throws {RuleError} for a rule that cannot be served or described.
 * @throws {TypeError} for a REST option by service or method that refers to nothing that is served.
 * @throws {Error} for an invalid option.
 */
export function createOpenApiDocument(
  services: readonly DescService[],
  options: OpenApiOptions = {},
): JsonObject {
  const settings = resolveOpenApiOptions(options);
  const methods = services.flatMap((service) => service.methods);
  assertServed(settings.rest, methods);
  const operations = operationsOf(services, settings);
  const { rest, securitySchemes, security } = settings;
  const components = new Components(settings.names);
  const tags = new Names(settings.names);
  const contextOf = (service: DescService): OperationContext => {
    const own = rest.services.get(service.typeName) ?? rest;
    const schemas = schemasOf(own, settings, components);
    // The function that renders errors does not know how a service writes integers.
    const errorForm = errorFormOf(own, settings, schemasOf(rest, settings, components), components);
    const tag = tags.nameOf({ full: service.typeName, short: service.name });
    return { settings, rest: own, schemas, components, errorForm, tag };
  };
  const served = new Set(operations.map(({ method }) => method.parent));
  const contexts = new Map([...served].map((service) => [service, contextOf(service)]));
  const paths: { [path: string]: JsonObject } = {};
  for (const one of operations) {
    addOperation(paths, one, contexts.get(one.method.parent) as OperationContext);
  }
  for (const name of Object.keys(settings.examples)) {
    if (!components.has(name)) throw new Error(`examples: the document has no message ${name}`);
  }
  const names = [...served].map(({ typeName }) => typeName).join(", ");
  const { title = names, version, servers, license } = settings;
  const errorForms = [...contexts.values()].map(({ errorForm }) => errorForm);
  const licensed = license !== undefined && { license: { name: license, identifier: license } };
  return {
    openapi: "3.1.0",
    info: { title, version, ...licensed },
    servers,
    security,
    tags: [...contexts].map(([service, { tag }]) => ({
      name: tag,
      ...describe(commentOf(service)),
    })),
    paths,
    components: {
      ...(Object.keys(securitySchemes).length > 0 && { securitySchemes }),
      responses: errorComponents(settings, errorForms),
      schemas: components.schemas,
    },
  };
}

/** A message that two services render differently has two schemas, one with a suffix. */
function schemasOf(
  own: RestServiceSettings,
  { rest, examples, textPattern }: OpenApiSettings,
  components: Components,
): Schemas {
  const { int64, ignoreUnknownFields } = own;
  const isOpen = ignoreUnknownFields ? "Open" : "Closed";
  const variants = {
    request: ignoreUnknownFields === rest.ignoreUnknownFields ? undefined : isOpen,
    response: int64 === rest.int64 ? undefined : int64 === "number" ? "Numbers" : "Strings",
  };
  return new Schemas(components, { int64, ignoreUnknownFields, examples, textPattern, variants });
}

const httpMethods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

function addOperation(
  paths: { [path: string]: JsonObject },
  one: Operation,
  context: OperationContext,
): void {
  const item = paths[one.path.path] ?? {};
  paths[one.path.path] = item;
  const { httpMethod, id } = one;
  if (httpMethods.includes(httpMethod)) {
    item[httpMethod.toLowerCase()] = operationObject(one, context);
    return;
  }
  const note = `OpenAPI 3.1 cannot describe the method ${httpMethod} here: ${id}.`;
  item["description"] = [item["description"], note].filter(Boolean).join(" ");
}
