/** `--check`: what would be served, and what is wrong. */
import type { DescMethod } from "@bufbuild/protobuf";
import { gatewayNodeAdapter } from "connect-gateway";
import { type Binding, bindingsOf, printPathTemplate, RuleError } from "connect-gateway/rules";
import { CommandError } from "./command-error.ts";
import { createTools } from "./mcp.ts";
import { createRoutes, type Served } from "./served.ts";
import type { Settings } from "./settings.ts";

/** The lines of what is served, and of what is wrong. */
export interface CheckReport {
  readonly served: readonly string[];
  readonly problems: readonly string[];
}

export function checkServed(
  served: Served,
  { requestMetadata, mcp }: Pick<Settings, "requestMetadata" | "mcp">,
): CheckReport {
  const lines: string[] = [];
  const problems = new Set<string>();
  for (const { upstream, descriptors } of served.parts) {
    for (const { typeName, methods } of descriptors.services) {
      lines.push(`${typeName} at ${upstream.place.url}`);
      for (const method of methods) {
        const routes = collect(problems, () => routesOf(method, served));
        lines.push(
          ...(routes ?? ["nothing, its rule is wrong"]).map((route) => line(method, route)),
        );
      }
    }
  }
  if (problems.size === 0) {
    // What no rule has by itself: routes that two have, selectors that no method has.
    const { rules, registry } = served;
    const routes = createRoutes(served, requestMetadata);
    collect(problems, () => {
      const tools = createTools(mcp, "", served);
      gatewayNodeAdapter({ routes, rest: { rules }, jsonOptions: { registry }, ...tools });
    });
  }
  return { served: lines, problems: [...problems] };
}

function collect<T>(problems: Set<string>, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const isOurs = error instanceof RuleError || error instanceof CommandError;
    if (!isOurs && !(error instanceof TypeError)) throw error;
    problems.add(error.message);
    return undefined;
  }
}

const forms: Readonly<Record<DescMethod["methodKind"], string>> = {
  unary: "unary",
  server_streaming: "server stream",
  client_streaming: "client stream",
  bidi_streaming: "bidirectional stream",
};

function line({ name, methodKind }: DescMethod, route: string): string {
  return `  ${name.padEnd(24)} ${forms[methodKind].padEnd(13)}  ${route}`;
}

function routesOf(method: DescMethod, { rules }: Served): string[] {
  const bindings = bindingsOf(method, rules);
  return bindings.length === 0 ? ["gRPC, gRPC-Web and Connect alone"] : bindings.map(printRoute);
}

function printRoute({ method, template, body, responseBody }: Binding): string {
  const parts = [
    ...(body === undefined ? [] : [`body ${body === "*" ? "*" : body.name}`]),
    ...(responseBody === undefined ? [] : [`response_body ${responseBody.name}`]),
  ];
  const form = parts.length === 0 ? "" : `  (${parts.join(", ")})`;
  return `${method} ${printPathTemplate(template)}${form}`;
}
