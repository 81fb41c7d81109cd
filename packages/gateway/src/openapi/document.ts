/** An OpenAPI document of what the gateway serves over REST. */
import type { DescService } from "@bufbuild/protobuf";
import { commentOf } from "./comments.ts";
import { Components } from "./components.ts";
import { requestContent, responseContent } from "./content.ts";
import { errorComponents, errorResponses } from "./errors.ts";
import type { JsonObject } from "./json-object.ts";
import { chooseNames } from "./names.ts";
import { type Operation, operationsOf } from "./operations.ts";
import { type OpenApiOptions, type OpenApiSettings, resolveOpenApiOptions } from "./options.ts";
import { pathParameter, queryParameters } from "./parameters.ts";
import { Schemas } from "./schema.ts";

/**
 * Describes what the gateway serves of the services over REST. Comments become
 * descriptions where the descriptors have them: those of a compiler have, generated
 * code has none.
 *
 * @throws {RuleError} for a rule that cannot be served or described.
 * @throws {Error} for an option that makes no sense.
 */
export function createOpenApiDocument(
  services: readonly DescService[],
  options: OpenApiOptions = {},
): JsonObject {
  const settings = resolveOpenApiOptions(options);
  const operations = operationsOf(services, settings.rest.rules, settings.openapi);
  const first = new Components();
  build(services, operations, settings, first);
  for (const name of Object.keys(settings.examples)) {
    if (!first.has(name)) throw new Error(`examples: the document has no message ${name}`);
  }
  return build(services, operations, settings, new Components(first.chooseNames()));
}

interface Context {
  readonly settings: OpenApiSettings;
  readonly schemas: Schemas;
  readonly components: Components;
  readonly errorSchema: JsonObject;
  readonly tags: ReadonlyMap<string, string>;
}

function build(
  services: readonly DescService[],
  operations: readonly Operation[],
  settings: OpenApiSettings,
  components: Components,
): JsonObject {
  const { rest, examples, error, securitySchemes, security } = settings;
  const schemas = new Schemas(components, { ...rest, examples });
  const served = services.filter((service) =>
    operations.some(({ method }) => method.parent === service),
  );
  const tags = chooseNames(served.map(({ name, typeName }) => ({ full: typeName, short: name })));
  const errorSchema = schemas.forMessage(error, "response");
  const context = { settings, schemas, components, errorSchema, tags };
  const { title = served.map(({ typeName }) => typeName).join(", "), version, license } = settings;
  const paths: { [path: string]: JsonObject } = {};
  for (const one of operations) addOperation(paths, one, context);
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
      responses: errorComponents(settings, errorSchema),
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
  context: Context,
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

function operationObject(
  { method, binding, path, id }: Operation,
  { settings, schemas, components, errorSchema, tags }: Context,
): JsonObject {
  const [summary = "", ...paragraphs] = commentOf(method).split("\n\n");
  const parameters = [
    ...path.parameters.map((parameter) => pathParameter(parameter, schemas, settings.openapi)),
    ...queryParameters(method.input, binding, schemas),
  ];
  const bodyName = { full: `${id}-Body`, short: `${id}Body` };
  const context = { schemas, components, openapi: settings.openapi, errorSchema, bodyName };
  const content = requestContent(method, binding, context);
  // No JSON at all is none; bytes may be none.
  const isRequired = content !== undefined && !("*/*" in content);
  return {
    operationId: id,
    tags: [tags.get(method.parent.typeName)],
    ...(summary !== "" && { summary: summary.replace(/\.$/, "") }),
    ...(paragraphs.length > 0 && { description: paragraphs.join("\n\n") }),
    ...((method.deprecated || method.parent.deprecated) && { deprecated: true }),
    ...(parameters.length > 0 && { parameters }),
    ...(content !== undefined && { requestBody: { required: isRequired, content } }),
    responses: {
      "200": { description: "Success", content: responseContent(method, binding, context) },
      ...errorResponses(settings),
    },
  };
}
