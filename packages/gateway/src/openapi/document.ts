/** An OpenAPI 3.1 document of what the gateway serves over REST. */
import type { DescField, DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";
import { parameterReader } from "../rest/parameter.ts";
import { type PathTemplate, printPathTemplate } from "../rest/path-template.ts";
import { type Binding, bindingsOf } from "../rest/rule.ts";
import { isRequired, type JsonObject, type SchemaOptions, Schemas } from "./schema.ts";

export interface OpenApiOptions {
  readonly title: string;
  /** The version of the interface. */
  readonly version: string;
  /** An SPDX identifier, https://spdx.org/licenses. */
  readonly license: string;
  /** What an error looks like, and its status: `default` for any that is not 2xx. */
  readonly error: { readonly message: DescMessage; readonly status: string };
  /** Whether every operation asks for a bearer token. */
  readonly bearer: boolean;
  readonly int64: SchemaOptions["int64"];
  /** The comment on an element, as plain text; empty without one. */
  readonly describe: (desc: DescService | DescMethod | DescMessage | DescField) => string;
}

/** Describes the methods of the services that `google.api.http` binds. */
export function createOpenApiDocument(
  services: readonly DescService[],
  options: OpenApiOptions,
): JsonObject {
  const methods = services.flatMap((service) => service.methods);
  const answers = [...methods.map((method) => method.output), options.error.message];
  const schemas = new Schemas(answers, options);
  const paths: { [path: string]: JsonObject } = {};
  for (const method of methods) {
    for (const [index, binding] of bindingsOf(method).entries()) {
      const path = openApiPath(binding.template);
      const item = paths[path] ?? {};
      item[binding.method.toLowerCase()] = operation(method, binding, { index, schemas, options });
      paths[path] = item;
    }
  }
  const { bearer, describe } = options;
  const tags = services.map((service) => ({ name: service.name, description: describe(service) }));
  return {
    openapi: "3.1.0",
    info: {
      title: options.title,
      version: options.version,
      license: { name: options.license, identifier: options.license },
    },
    servers: [{ url: "/" }],
    ...(bearer && { security: [{ bearer: [] }] }),
    tags,
    paths,
    components: {
      ...(bearer && { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } }),
      schemas: schemas.components,
    },
  };
}

interface Context {
  /** Which of the method's bindings it is. */
  readonly index: number;
  readonly schemas: Schemas;
  readonly options: OpenApiOptions;
}

function operation(method: DescMethod, binding: Binding, context: Context): JsonObject {
  const { schemas, options, index } = context;
  const [summary = "", ...paragraphs] = options.describe(method).split("\n\n");
  const parameters = [
    ...pathParameters(binding, schemas),
    ...queryParameters(method, binding, schemas),
  ];
  const { message, status } = options.error;
  return {
    operationId: index === 0 ? method.name : `${method.name}${index + 1}`,
    tags: [method.parent.name],
    ...(summary !== "" && { summary: summary.replace(/\.$/, "") }),
    ...(paragraphs.length > 0 && { description: paragraphs.join("\n\n") }),
    ...(parameters.length > 0 && { parameters }),
    ...requestBody(method, binding, schemas),
    responses: {
      "200": { description: "Success", content: json(responseSchema(method, binding, schemas)) },
      [status]: { description: "Error", content: json(schemas.forMessage(message, "response")) },
    },
  };
}

/** OpenAPI has `{name}` and no patterns: what a variable may hold goes into its schema. */
function openApiPath(template: PathTemplate): string {
  return printPathTemplate(template).replaceAll(/\{([^=}]+)(=[^}]*)?\}/g, "{$1}");
}

function pathParameters({ template, variables }: Binding, schemas: Schemas): JsonObject[] {
  return variables.map((variable) => {
    const segments = template.segments.slice(variable.from, variable.to);
    const isPlain = segments.length === 1 && segments[0]?.kind === "any";
    const [field] = variable.path.slice(-1);
    const schema = field === undefined ? {} : schemas.forField(field, "request");
    const { description, ...rest } = schema;
    return {
      name: variable.fieldPath.join("."),
      in: "path",
      required: true,
      ...(description !== undefined && { description }),
      schema: isPlain ? rest : { ...rest, pattern: patternOf(segments) },
    };
  });
}

function patternOf(segments: PathTemplate["segments"]): string {
  return `^${segments.map(segmentPattern).join("/")}$`;
}

function segmentPattern(segment: PathTemplate["segments"][number]): string {
  switch (segment.kind) {
    case "literal":
      return segment.value.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
    case "any":
      return "[^/]+";
    case "rest":
      return ".*";
  }
}

function queryParameters(method: DescMethod, binding: Binding, schemas: Schemas): JsonObject[] {
  if (binding.body === "*") return [];
  const inPath = new Set(binding.variables.map(({ fieldPath }) => fieldPath.join(".")));
  return method.input.fields
    .filter((field) => field !== binding.body && !inPath.has(field.name))
    .filter((field) => field.fieldKind !== "map" && parameterReader(field) !== undefined)
    .map((field) => {
      const { description, ...schema } = schemas.forField(field, "request");
      return {
        name: field.jsonName,
        in: "query",
        ...(isRequired(field) && { required: true }),
        ...(description !== undefined && { description }),
        schema,
      };
    });
}

function requestBody(method: DescMethod, { body }: Binding, schemas: Schemas): JsonObject {
  if (body === undefined) return {};
  const isWhole = body === "*";
  const schema = isWhole
    ? schemas.forMessage(method.input, "request")
    : schemas.forField(body, "request");
  return { requestBody: { required: isWhole || isRequired(body), content: json(schema) } };
}

function responseSchema(method: DescMethod, { responseBody }: Binding, schemas: Schemas) {
  return responseBody === undefined
    ? schemas.forMessage(method.output, "response")
    : schemas.forField(responseBody, "response");
}

function json(schema: JsonObject): JsonObject {
  return { "application/json": { schema } };
}
