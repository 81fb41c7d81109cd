import { createRequire } from "node:module";
import type { DescMethod } from "@bufbuild/protobuf";
import { Command } from "commander";
import { gatewayNodeAdapter, RuleError } from "connect-gateway";
import { type Binding, bindingsOf } from "connect-gateway/rules";
import { createConfigCommand } from "connect-gateway-kit/command/config";
import { createHealthCommand } from "connect-gateway-kit/command/health";
import { CommandFailure, runCommandLine } from "connect-gateway-kit/command/run";
import { createTokenCommand } from "connect-gateway-kit/command/token";
import { addSettingFlags, type Flags, readSettings } from "connect-gateway-kit/settings";
import { DescriptorError } from "../services/index.ts";
import { describeServed } from "./reference.ts";
import { readRules } from "./rules.ts";
import { serveUpstreams } from "./serve.ts";
import { gatewayOptions, refuse } from "./served.ts";
import { assertFiles, proxyProgram, type Settings } from "./settings.ts";
import { readServices, serveOnStdio } from "./stdio.ts";
import type { UpstreamPlace } from "./upstream-place.ts";

/** Runs one command line, without the program's name. Never throws. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const program = new Command(proxyProgram.name)
    .description("A proxy in front of gRPC servers: REST, Connect, gRPC-Web and gRPC on one port.")
    .version(version, "-v, --version")
    .option("--stdio", "serve MCP on standard input and output instead of a port; needs --mcp")
    .option("--check", "print what would be served and what is wrong, and exit with 0 or 1")
    .enablePositionalOptions()
    .argument("[word]")
    .usage("[options] [command]")
    .helpCommand(true)
    .action(serve);
  addSettingFlags(proxyProgram, program)
    .addHelpText("after", notes)
    .addCommand(createTokenCommand(proxyProgram, "cgwp_", tokenFileOf))
    .addCommand(createConfigCommand(proxyProgram, assertAllFiles))
    .addCommand(createHealthCommand(proxyProgram));
  return await runCommandLine(program, args, [RuleError, DescriptorError]);
}

const notes = `
More settings have no flag, only a variable and a key of the file. To list all: config show.
Example:

  connect-gateway-proxy --upstream http://127.0.0.1:50051 --reflection`;

const version: string = createRequire(import.meta.url)(
  "connect-gateway-proxy/package.json",
).version;

async function serve(word: string | undefined, flags: Flags): Promise<void> {
  if (word !== undefined)
    throw new CommandFailure(2, `unknown command '${word}'; give flags alone`);
  const { settings, use } = await readSettings(proxyProgram, flags);
  await use(async () => assertFiles(settings));
  if (flags["check"] === true) await check(settings);
  else if (flags["stdio"] === true) await serveOnStdio(settings, version);
  else await serveUpstreams(settings, version);
}

/** @throws also {CommandFailure}, for what ends a start. */
async function assertAllFiles(settings: Settings): Promise<void> {
  assertFiles(settings);
  if (settings.descriptors === undefined) return void readRules(settings);
  using opened = await readServices(settings);
  const { served } = opened;
  const onRuleError = ({ selector, message }: RuleError) => {
    if (served.rules.some((rule) => rule.selector === selector)) refuse(message);
  };
  gatewayNodeAdapter(gatewayOptions(served, settings, { version, onUnknown: refuse, onRuleError }));
}

function tokenFileOf(file: string | undefined): string {
  if (file !== undefined) return file;
  throw new CommandFailure(2, "there is no token file: set --token-file");
}

async function check(settings: Settings): Promise<void> {
  using opened = await readServices(settings);
  const { served } = opened;
  const broken = new Set(served.parts.flatMap(({ descriptors }) => descriptors.broken));
  const problems = new Set(broken);
  const options = gatewayOptions(served, settings, {
    version,
    onUnknown: (problem) => problems.add(problem),
    onRuleError: ({ message }) => problems.add(message),
  });
  const lines = served.parts.flatMap(({ upstream, descriptors }) =>
    descriptors.services.flatMap(({ typeName, methods }) => [
      `${typeName} at ${upstream.place.url}`,
      ...methods.flatMap((method) =>
        describeMethod(method, bindingsOf(method, options.rest), upstream.place),
      ),
    ]),
  );
  // Problems across rules: duplicate routes, selectors without a method.
  gatewayNodeAdapter(options);
  if (settings.openapi) describeServed(served.services, options.rest, settings);
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
  for (const warning of served.warnings) {
    if (!broken.has(warning)) process.stderr.write(`${proxyProgram.name}: ${warning}\n`);
  }
  if (problems.size > 0) throw new CommandFailure(1, [...problems]);
}

function describeMethod(
  method: DescMethod,
  bindings: readonly Binding[],
  { protocol, url }: UpstreamPlace,
) {
  const { name, methodKind } = method;
  const routes = bindings.map(printRoute);
  if (routes.length === 0) routes.push("gRPC, gRPC-Web and Connect alone");
  const calls =
    protocol === "rest"
      ? bindings.map(({ method, template }) => `${method} ${url}${template.text}`)
      : [`POST ${url}/${method.parent.typeName}/${name}`];
  const none = "nothing: it has no rule, and fails with UNIMPLEMENTED";
  if (protocol !== "grpc") routes.push(`calls ${calls.join(", or ") || none}`);
  const kind = methodKind.replace("_streaming", " stream");
  return routes.map((route) => `  ${name.padEnd(24)} ${kind.padEnd(13)}  ${route}`);
}

function printRoute({ method, template, body, responseBody }: Binding): string {
  const parts = [
    ...(body === undefined ? [] : [`body ${body === "*" ? "*" : body.name}`]),
    ...(responseBody === undefined ? [] : [`response_body ${responseBody.name}`]),
  ];
  const form = parts.length === 0 ? "" : `  (${parts.join(", ")})`;
  return `${method} ${template.text}${form}`;
}
