import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import {
  hasCustomJsonRepresentation,
  MethodOptions_IdempotencyLevel,
} from "@bufbuild/protobuf/wkt";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { commentOf, snakeCase, titleOf } from "../openapi/comments.ts";
import { createComponents, type JsonObject, mapValues } from "../openapi/components.ts";
import { createSchemas, type Schemas } from "../openapi/schema/schema.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { bindingsOf, selectorOf } from "../rest/rule/rule.ts";
import { methodNameOf } from "../rpc/call-names.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import type { McpSettings } from "./options.ts";

/** A method whose arguments are one message. */
export interface Tool extends Endpoint {
  readonly name: string;
  /** The description for clients, as JSON text. Created on first use. */
  readonly description: () => string;
}

/** The tools by name, in the order of the endpoints. @throws {TypeError} for a name that cannot be one. */
export function createTools(
  endpoints: readonly Endpoint[],
  settings: McpSettings,
  rules: readonly HttpRule[],
): ReadonlyMap<string, Tool> {
  const namesOf = ({ spec: { method: of } }: Endpoint) => [of.parent.typeName, methodNameOf(of)];
  const wanted = new Set(settings.tools);
  const named = endpoints.filter((one) => namesOf(one).some((name) => wanted.has(name)));
  const served = named.filter(({ spec: { kind } }) => /^(?:unary|server_streaming)$/.test(kind));
  const [known, offered] = [named, served].map((some) => new Set(some.flatMap(namesOf)));
  for (const name of wanted) {
    const problem = known?.has(name) ? "takes a stream, which no tool can" : "is not served";
    if (!offered?.has(name)) throw new TypeError(`mcp.tools: ${name} ${problem}`);
  }
  for (const name of Object.keys(settings.hints)) {
    if (!served.some(({ spec }) => methodNameOf(spec.method) === name))
      throw new TypeError(`mcp.hints: ${name} is no tool`);
  }
  const names = toolNames(served.map(({ spec }) => spec.method));
  return new Map(
    served.map((endpoint) => {
      const { method } = endpoint.spec;
      const name = names.get(method) ?? selectorOf(method);
      let text: string | undefined;
      const description = () => {
        try {
          text ??= describe(name, method, settings, rules);
        } catch (cause) {
          text = JSON.stringify({ name, inputSchema: { type: "object" } });
          endpoint.options.onError?.(new Error(`no schema for the tool ${name}`, { cause }));
        }
        return text;
      };
      return [name, { ...endpoint, name, description }];
    }),
  );
}

function describe(
  name: string,
  served: DescMethod,
  settings: McpSettings,
  rules: readonly HttpRule[],
): string {
  const described = settings.descriptors?.getService(served.parent.typeName)?.methods;
  const method = described?.find((one) => one.name === served.name) ?? served;
  const tool = {
    name,
    title: titleOf(method),
    description: commentOf(method) || `${titleOf(method)} (${method.parent.typeName})`,
    inputSchema: inputSchema(method, settings),
    outputSchema: outputSchema(method, settings),
    annotations: { ...annotationsOf(served, rules), ...settings.hints[methodNameOf(served)] },
  };
  // Formats of OpenAPI say less than the bounds beside them, and strict readers do not know all.
  const isFormat = (value: unknown) => /^(?:u?int(?:32|64)|float|double)$/.test(String(value));
  return JSON.stringify(tool, (keyword, value) =>
    keyword === "format" && isFormat(value) ? undefined : value,
  );
}

/** The hints that the proto gives. Clients assume the worst for missing ones. */
function annotationsOf(method: DescMethod, rules: readonly HttpRule[]) {
  // REST reports rules that cannot be served.
  const verbs = bindingsOf(method, { rules, onRuleError() {} }).map((binding) => binding.method);
  const { NO_SIDE_EFFECTS, IDEMPOTENT } = MethodOptions_IdempotencyLevel;
  const isReadOnly = method.idempotency === NO_SIDE_EFFECTS || verbs.includes("GET");
  return {
    ...(isReadOnly && { readOnlyHint: true }),
    ...(method.idempotency === IDEMPOTENT && { idempotentHint: true }),
    ...(verbs.includes("DELETE") && { destructiveHint: true }),
  };
}

const lengthMax = 64;

/** `create_plant`; where two would have one name, with that of the service, and then of the package. */
export function toolNames(methods: readonly DescMethod[]): ReadonlyMap<DescMethod, string> {
  const names = new Map<DescMethod, string>();
  for (const length of [0, 1, 2]) {
    const rest = methods.filter((method) => !names.has(method));
    const taken = Map.groupBy(rest, (method) => {
      const { name, parent } = method;
      const full = [name, `${parent.name}_${name}`, `${parent.typeName}_${name}`][length] ?? name;
      return shortened(snakeCase(full.replaceAll(".", "_")), method);
    });
    const earlier = new Set(names.values());
    for (const [name, [only, ...others]] of taken) {
      if (only !== undefined && others.length === 0 && !earlier.has(name)) names.set(only, name);
    }
  }
  return names;
}

/** A name that is too long ends with a hash (FNV-1a) of the method's full name. */
function shortened(name: string, { name: method, parent }: DescMethod): string {
  if (name.length <= lengthMax) return name;
  let hash = 0x811c9dc5;
  for (const character of `${parent.typeName}/${method}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return `${name.slice(0, lengthMax - 9)}_${hash.toString(16).padStart(8, "0")}`;
}

/** The member that holds a value that is no JSON object, because arguments and results must be. */
export const valueMember = "value";

/** Whether the JSON of a message is an object. */
export function isObject(message: DescMessage): boolean {
  const isValue = hasCustomJsonRepresentation(message);
  return !isValue || /^google\.protobuf\.(?:Struct|Any)$/.test(message.typeName);
}

export function inputSchema({ input }: DescMethod, settings: McpSettings): JsonObject {
  return complete("request", settings, (schemas) => rootSchema(input, "request", schemas));
}

/** A stream is one object with its messages. A google.api.HttpBody is content, and has no schema. */
function outputSchema(method: DescMethod, settings: McpSettings): JsonObject | undefined {
  const { output, methodKind } = method;
  const isStream = methodKind === "server_streaming";
  if (!isStream && isHttpBody(output, undefined)) return undefined;
  const description = "Whether these are only the first messages of the stream.";
  const streamSchema = (schemas: Schemas) => ({
    type: "object",
    properties: {
      messages: { type: "array", items: schemas.forMessage(output, "response") },
      truncated: { type: "boolean", description },
    },
    required: ["messages", "truncated"],
  });
  return complete("response", settings, (schemas) =>
    isStream ? streamSchema(schemas) : rootSchema(output, "response", schemas),
  );
}

type Place = "request" | "response";

/** The root must be an object, and not a reference to one. */
function rootSchema(message: DescMessage, place: Place, schemas: Schemas): JsonObject {
  if (!hasCustomJsonRepresentation(message)) return schemas.forFields(message, place);
  if (isObject(message)) return { type: "object", additionalProperties: true };
  return {
    type: "object",
    properties: { [valueMember]: schemas.forMessage(message, place) },
    required: [valueMember],
    ...(place === "request" && { additionalProperties: false }),
  };
}

/** A schema with the definitions that it refers to. */
function complete(
  place: Place,
  { textPattern, schemas: form }: McpSettings,
  create: (schemas: Schemas) => JsonObject,
): JsonObject {
  const components = createComponents("full", "#/$defs", true);
  const own = { int64: "string", isForModels: true, textPattern } as const;
  const others = { ignoreUnknownFields: false, examples: {} };
  const schema = create(createSchemas(components, { ...own, ...others }));
  const { schemas: definitions } = components;
  if (form === "plain") return plainSchema(schema, definitions, place);
  return Object.keys(definitions).length === 0 ? schema : { ...schema, $defs: definitions };
}

/** Of 26 messages that each have two of the next, a schema would have 67 million. */
const plainReferencesMax = 500;

/**
 * The same schema, for clients that refuse `$ref`, `anyOf`, `not` and `additionalProperties: false`:
 * its references are in place. A message that contains itself is any object from there on. References
 * that are too many, conditions that need `not`, those that differ between alternatives, and unknown
 * members are left to the server. Of several types, arguments take the first, and results any.
 */
function plainSchema(
  schema: JsonObject,
  definitions: Readonly<Record<string, JsonObject>>,
  place: Place,
): JsonObject {
  let left = plainReferencesMax;

  function plain(value: unknown, open: readonly string[]): JsonObject {
    const { $ref, anyOf, not: _not, additionalProperties: more, ...rest } = value as JsonObject;
    const kept = typeof more === "object" ? { ...rest, additionalProperties: more } : rest;
    const members = mapValues(kept, (one, keyword) => {
      if (keyword === "properties")
        return mapValues(one as JsonObject, (each) => plain(each, open));
      if (keyword === "allOf") return (one as unknown[]).map((each) => plain(each, open));
      // Others hold data.
      const isSchema = ["items", "additionalProperties", "propertyNames"].includes(keyword);
      return isSchema ? plain(one, open) : one;
    });
    if (typeof $ref === "string") return { ...resolve($ref, open), ...members };
    if (!Array.isArray(anyOf) || place === "response") return members;
    const typed = anyOf.filter(({ type }) => type !== "null").map((one) => plain(one, open));
    const [first = {}, ...others] = typed;
    const isOneType = others.length > 0 && others.every(({ type }) => type === first["type"]);
    return { ...(isOneType ? { type: first["type"] } : first), ...members };
  }

  function resolve($ref: string, open: readonly string[]): JsonObject {
    const name = $ref.slice("#/$defs/".length);
    if (open.includes(name)) return { type: "object" };
    return left-- > 0 ? plain(definitions[name], [...open, name]) : {};
  }

  return plain(schema, []);
}
