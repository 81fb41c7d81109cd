import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { commentOf, snakeCase, titleOf } from "../openapi/comments.ts";
import { bindingsOf } from "../rest/rule/rule.ts";
import { methodNameOf } from "../rpc/call-names.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import type { McpSettings } from "./options.ts";
import { inputSchema, outputSchema } from "./tool-schema.ts";

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
  const chosen = new Set(settings.tools.flatMap((name) => choose(endpoints, name)));
  for (const name of Object.keys(settings.hints)) {
    if (![...chosen].some(({ spec }) => methodNameOf(spec.method) === name))
      throw new TypeError(`mcp.hints: ${name} is no tool`);
  }
  const names = toolNames([...chosen].map(({ spec }) => spec.method));
  const served = endpoints.filter((endpoint) => chosen.has(endpoint));
  return new Map(
    served.map((endpoint) => {
      const { method } = endpoint.spec;
      const name = names.get(method) ?? method.name;
      let text: string | undefined;
      const description = () => {
        text ??= describe(name, method, settings, rules);
        return text;
      };
      return [name, { ...endpoint, name, description }];
    }),
  );
}

/** Of a service, the methods that can be tools. */
function choose(endpoints: readonly Endpoint[], name: string): readonly Endpoint[] {
  const named = endpoints.filter(({ spec: { method } }) => {
    return method.parent.typeName === name || methodNameOf(method) === name;
  });
  if (named.length === 0) throw new TypeError(`mcp.tools: ${name} is not served`);
  const offered = named.filter(
    ({ spec: { kind } }) => kind === "unary" || kind === "server_streaming",
  );
  if (offered.length > 0) return offered;
  throw new TypeError(`mcp.tools: ${name} takes a stream, which no tool can`);
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
    for (const [name, [only, ...others]] of taken) {
      if (only !== undefined && others.length === 0) names.set(only, name);
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
