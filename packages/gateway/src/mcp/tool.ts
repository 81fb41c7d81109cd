/** Methods as tools. */
import type { DescMethod, DescService, Registry } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { HttpRule } from "../../gen/google/api/http_pb.ts";
import { commentOf } from "../openapi/comments.ts";
import { bindingsOf } from "../rest/rule/rule.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { titleOf, toolNames } from "./tool-name.ts";
import { inputSchema, outputSchema, type ToolSchemaOptions } from "./tool-schema.ts";

/** A method that can be a tool: its arguments are one message. */
export interface Tool {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly spec: Extract<Endpoint["spec"], { kind: "unary" | "server_streaming" }>;
  /** What clients are told, as JSON text. Made when it is asked for. */
  readonly description: () => string;
}

export interface ToolOptions extends ToolSchemaOptions {
  /** Full names of services, and of methods: `SERVICE/METHOD`. */
  readonly names: readonly string[];
  readonly rules: readonly HttpRule[];
  /** Descriptors with comments. */
  readonly descriptors: Registry | undefined;
}

/**
 * The tools of an endpoint each, by name, in the order of the endpoints.
 *
 * @throws {TypeError} for a name that is not served, and for a method whose requests are a stream.
 */
export function createTools(
  endpoints: readonly Endpoint[],
  options: ToolOptions,
): ReadonlyMap<string, Tool> {
  const chosen = new Set(options.names.flatMap((name) => choose(endpoints, name)));
  const served = endpoints.filter((endpoint) => chosen.has(endpoint));
  const names = toolNames(served.map(({ spec }) => spec.method));
  const tools = served.flatMap((endpoint): Tool[] => {
    const { spec } = endpoint;
    const name = names.get(spec.method);
    const isStreamed = spec.kind === "client_streaming" || spec.kind === "bidi_streaming";
    if (name === undefined || isStreamed) return [];
    return [
      { name, endpoint, spec, description: once(() => describe(name, spec.method, options)) },
    ];
  });
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function choose(endpoints: readonly Endpoint[], name: string): readonly Endpoint[] {
  const named = endpoints.filter(({ spec: { method } }) => {
    return [method.parent.typeName, `${method.parent.typeName}/${method.name}`].includes(name);
  });
  const offered = named.filter(
    ({ spec: { kind } }) => kind === "unary" || kind === "server_streaming",
  );
  if (named.length === 0) throw new TypeError(`mcp.tools: ${name} is not served`);
  if (offered.length > 0) return offered;
  throw new TypeError(`mcp.tools: ${name} takes a stream, which no tool can`);
}

function describe(name: string, served: DescMethod, options: ToolOptions): string {
  const method = describedIn(options.descriptors, served) ?? served;
  const tool = {
    name,
    title: titleOf(method),
    description: commentOf(method) || signatureOf(method),
    inputSchema: inputSchema(method, options),
    outputSchema: outputSchema(method, options),
    annotations: annotationsOf(served, options.rules),
  };
  // Formats of OpenAPI say less than the bounds beside them, and strict readers do not know all.
  const isFormat = (value: unknown) => /^(?:u?int(?:32|64)|float|double)$/.test(String(value));
  return JSON.stringify(tool, (keyword, value) =>
    keyword === "format" && isFormat(value) ? undefined : value,
  );
}

function describedIn(registry: Registry | undefined, { name, parent }: DescMethod) {
  const service: DescService | undefined = registry?.getService(parent.typeName);
  return service?.methods.find((method) => method.name === name);
}

/** As in the proto, for a method without a comment. */
function signatureOf({ name, input, output, methodKind }: DescMethod): string {
  const stream = methodKind === "server_streaming" ? "stream " : "";
  return `rpc ${name}(${input.typeName}) returns (${stream}${output.typeName})`;
}

/** Only what the proto says. Clients assume the worst of anything else. */
function annotationsOf(method: DescMethod, rules: readonly HttpRule[]) {
  const verbs = bindingsOf(method, rules).map((binding) => binding.method);
  const { NO_SIDE_EFFECTS, IDEMPOTENT } = MethodOptions_IdempotencyLevel;
  const isReadOnly = method.idempotency === NO_SIDE_EFFECTS || verbs.includes("GET");
  return {
    ...(isReadOnly && { readOnlyHint: true }),
    ...(method.idempotency === IDEMPOTENT && { idempotentHint: true }),
    ...(verbs.includes("DELETE") && { destructiveHint: true }),
  };
}

function once<T>(create: () => T): () => T {
  let created: T | undefined;
  return () => {
    created ??= create();
    return created;
  };
}
