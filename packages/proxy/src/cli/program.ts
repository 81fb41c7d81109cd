import { createRequire } from "node:module";
import type { DescMethod } from "@bufbuild/protobuf";
import { Command } from "commander";
import { gatewayNodeAdapter, RuleError } from "connect-gateway";
import { type Binding, bindingsOf } from "connect-gateway/rules";
import { createConfigCommand } from "../command/config.ts";
import { createHealthCommand } from "../command/health.ts";
import { CommandFailure, runCommandLine } from "../command/run.ts";
import { createTokenCommand } from "../command/token.ts";
import { DescriptorError, reflectServices } from "../services/index.ts";
import { addSettingFlags } from "../settings/flags.ts";
import { type Flags, readSettings } from "../settings/given.ts";
import { describeServed } from "./reference.ts";
import { readRules } from "./rules.ts";
import { serveUpstreams } from "./serve.ts";
import { createRoutes, createServed, createTools, type Part, type Served } from "./served.ts";
import { assertFiles, proxyProgram, type Settings } from "./settings.ts";
import { openUpstreams, readDescriptorFile } from "./upstream.ts";

/** Runs one command line, without the program's name. Never throws. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const program = new Command(proxyProgram.name)
    .description("Serves gRPC servers by REST, Connect, gRPC-Web and gRPC, on one port.")
    .version(version, "-v, --version")
    .option("--check", "print what would be served and what is wrong, and exit with 0 or 1")
    .enablePositionalOptions()
    .allowExcessArguments(false)
    .action(serve);
  addSettingFlags(proxyProgram, program)
    .addHelpText("after", notes)
    .addCommand(createTokenCommand(proxyProgram, "cgwp_", tokenFileOf))
    .addCommand(createConfigCommand(proxyProgram, assertFiles))
    .addCommand(createHealthCommand(proxyProgram));
  return await runCommandLine(program, args, [RuleError, DescriptorError]);
}

const notes = `
More settings are variables and keys of the file. To list them: config show.
For example:

  connect-gateway-proxy --upstream http://127.0.0.1:50051 --reflection`;

const version: string = createRequire(import.meta.url)(
  "connect-gateway-proxy/package.json",
).version;

async function serve(flags: Flags): Promise<void> {
  const { settings, use } = await readSettings(proxyProgram, flags);
  await use(async () => assertFiles(settings));
  if (flags["check"] === true) await check(settings);
  else await serveUpstreams(settings, version);
}

function tokenFileOf(file: string | undefined): string {
  if (file !== undefined) return file;
  throw new CommandFailure(2, "there is no token file: set --token-file");
}

async function check(settings: Settings): Promise<void> {
  const rules = settings.rules === undefined ? [] : readRules(settings.rules);
  const parts = await readParts(settings);
  const upstreams = parts.map(({ upstream }) => upstream);
  const report = checkServed(createServed({ parts, upstreams, rules }), settings);
  process.stdout.write(report.served.map((line) => `${line}\n`).join(""));
  for (const line of report.warnings) process.stderr.write(`${proxyProgram.name}: ${line}\n`);
  if (report.problems.length > 0) throw new CommandFailure(1, report.problems);
}

async function readParts(settings: Settings): Promise<readonly Part[]> {
  const upstreams = openUpstreams(settings, () => {});
  try {
    const { descriptors: file } = settings;
    if (file !== undefined) {
      const descriptors = readDescriptorFile(file);
      return upstreams.map((upstream) => ({ upstream, descriptors }));
    }
    return await Promise.all(
      upstreams.map(async (upstream) => {
        const { url, services } = upstream.place;
        try {
          const { transport } = upstream;
          return { upstream, descriptors: await reflectServices(transport, { services }) };
        } catch (cause) {
          throw new CommandFailure(1, `${url}: ${(cause as Error).message}`, { cause });
        }
      }),
    );
  } finally {
    for (const { transport } of upstreams) transport.close();
  }
}

/** The lines of what is served, of what is left out, and of what may be wrong. */
interface CheckReport {
  readonly served: readonly string[];
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

function checkServed(served: Served, settings: Settings): CheckReport {
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
