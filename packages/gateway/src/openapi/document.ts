/** Creates an OpenAPI document of what the gateway serves over REST. */
import type { DescService } from "@bufbuild/protobuf";
import { assertServices } from "../rest/options.ts";
import { assertStatuses } from "../rest/response/success-status.ts";
import { commentOf } from "./comments.ts";
import { Components } from "./components.ts";
import { errorComponents } from "./errors.ts";
import type { JsonObject } from "./json-object.ts";
import { chooseNames } from "./names.ts";
import { type OperationContext, operationObject } from "./operation-object.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { type OpenApiOptions, type OpenApiSettings, resolveOpenApiOptions } from "./options.ts";
import { errorFormOf, schemasOf } from "./service-schemas.ts";

/**
 * Describes what the gateway serves over REST for the services. Comments become descriptions if the
 * descriptors include them: those of a compiler do, generated code does not.
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
  const operations = operationsOf(services, settings.rest.rules, settings.openapi);
  const methods = services.flatMap((service) => service.methods);
  assertServices(settings.rest.services, methods);
  assertStatuses(
    settings.rest.statuses,
    operations.map(({ method }) => method),
  );
  const first = new Components();
  build(services, operations, settings, first);
  for (const name of Object.keys(settings.examples)) {
    if (!first.has(name)) throw new Error(`examples: the document has no message ${name}`);
  }
  return build(services, operations, settings, new Components(first.chooseNames()));
}

function build(
  services: readonly DescService[],
  operations: readonly Operation[],
  settings: OpenApiSettings,
  components: Components,
): JsonObject {
  const { rest, securitySchemes, security } = settings;
  const served = services.filter((service) =>
    operations.some(({ method }) => method.parent === service),
  );
  const tags = chooseNames(served.map(({ name, typeName }) => ({ full: typeName, short: name })));
  const contextOf = (service: DescService): OperationContext => {
    const own = rest.services.get(service.typeName) ?? rest;
    const schemas = schemasOf(own, settings, components);
    // The function that renders errors does not know how a service writes integers.
    const errorForm = errorFormOf(own, settings, schemasOf(rest, settings, components), components);
    return { settings, rest: own, schemas, components, errorForm, tag: tags.get(service.typeName) };
  };
  const contexts = new Map(served.map((service) => [service, contextOf(service)]));
  const { title = served.map(({ typeName }) => typeName).join(", "), version, license } = settings;
  const paths: { [path: string]: JsonObject } = {};
  for (const one of operations) {
    const context = contexts.get(one.method.parent);
    if (context !== undefined) addOperation(paths, one, context);
  }
  const errorForms = [...contexts.values()].map(({ errorForm }) => errorForm);
  return {
    openapi: `${settings.openapi}.0`,
    info: {
      title,
      version,
      ...(license !== undefined && { license: { name: license, identifier: license } }),
    },
    servers: [{ url: "/" }],
    security,
    tags: served.map((service) => tagOf(service, tags)),
    paths,
    components: {
      ...(Object.keys(securitySchemes).length > 0 && { securitySchemes }),
      responses: errorComponents(settings, errorForms),
      schemas: components.schemas,
    },
  };
}

function tagOf(service: DescService, tags: ReadonlyMap<string, string>): JsonObject {
  const description = commentOf(service);
  return {
    name: tags.get(service.typeName),
    ...(description !== "" && { description }),
  };
}

function addOperation(
  paths: { [path: string]: JsonObject },
  one: Operation,
  context: OperationContext,
): void {
  const item = paths[one.path.path] ?? {};
  paths[one.path.path] = item;
  const isKnown = one.httpMethod === one.httpMethod.toLowerCase();
  if (isKnown) {
    item[one.httpMethod] = operationObject(one, context);
  } else {
    const others = item["additionalOperations"];
    item["additionalOperations"] = {
      ...(typeof others === "object" ? others : {}),
      [one.httpMethod]: operationObject(one, context),
    };
  }
}
