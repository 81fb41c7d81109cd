/** `--check`: what would be served, and what is wrong. */
import type { DescMethod } from "@bufbuild/protobuf";
import { gatewayNodeAdapter } from "connect-gateway";
import { type Binding, bindingsOf, type RuleError } from "connect-gateway/rules";
import { createTools } from "./mcp.ts";
import { describeServed } from "./reference.ts";
import { createRoutes, type Served } from "./served.ts";
import type { Settings } from "./settings.ts";

/** The lines of what is served, of what is left out, and of what may be wrong. */
export interface CheckReport {
  readonly served: readonly string[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

export function checkServed(served: Served, settings: Settings): CheckReport {
  const { parts, services, rules, registry } = served;
  const broken = new Set(parts.flatMap(({ descriptors }) => descriptors.broken));
  const problems = new Set(broken);
  const rest = { rules, onRuleError: ({ message }: RuleError) => problems.add(message) };
  const lines: string[] = [];
  for (const { upstream, descriptors } of parts) {
    for (const { typeName, methods } of descriptors.services) {
      lines.push(`${typeName} at ${upstream.place.url}`);
      for (const method of methods) {
        const bindings = bindingsOf(method, rest);
        const routes = bindings.length === 0 ? [rpcAlone] : bindings.map(printRoute);
        lines.push(...routes.map((route) => line(method, route)));
      }
    }
  }
  // What no rule has by itself: routes that two have, selectors that no method has.
  const routes = createRoutes(served, settings);
  const tools = createTools(settings.mcp, "", served, (problem) => problems.add(problem));
  gatewayNodeAdapter({ routes, rest, jsonOptions: { registry }, ...tools });
  if (settings.openapi) describeServed(services, rest);
  const warnings = served.warnings.filter((warning) => !broken.has(warning));
  return { served: lines, problems: [...problems], warnings };
}

const rpcAlone = "gRPC, gRPC-Web and Connect alone";

const forms: Readonly<Record<DescMethod["methodKind"], string>> = {
  unary: "unary",
  server_streaming: "server stream",
  client_streaming: "client stream",
  bidi_streaming: "bidirectional stream",
};

function line({ name, methodKind }: DescMethod, route: string): string {
  return `  ${name.padEnd(24)} ${forms[methodKind].padEnd(13)}  ${route}`;
}

function printRoute({ method, template, body, responseBody }: Binding): string {
  const parts = [
    ...(body === undefined ? [] : [`body ${body === "*" ? "*" : body.name}`]),
    ...(responseBody === undefined ? [] : [`response_body ${responseBody.name}`]),
  ];
  const form = parts.length === 0 ? "" : `  (${parts.join(", ")})`;
  return `${method} ${template.text}${form}`;
}
