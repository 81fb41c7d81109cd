import { createRequire } from "node:module";
import { Command } from "commander";
import { RuleError } from "connect-gateway";
import { CommandFailure } from "../command/command-failure.ts";
import { createConfigCommand } from "../command/config.ts";
import { createHealthCommand } from "../command/health.ts";
import { runCommandLine } from "../command/run.ts";
import { createTokenCommand } from "../command/token.ts";
import { DescriptorError, reflectServices } from "../services/index.ts";
import { addSettingFlags } from "../settings/flags.ts";
import { type Flags, readSettings } from "../settings/given.ts";
import { checkServed } from "./check.ts";
import { readRules } from "./rules.ts";
import { serveUpstreams } from "./serve.ts";
import { createServed, type Part } from "./served.ts";
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
    .addCommand(createTokens())
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

function createTokens(): Command {
  return createTokenCommand(proxyProgram, {
    prefix: "cgwp_",
    fileOf(file) {
      if (file !== undefined) return file;
      throw new CommandFailure(2, "there is no token file: set --token-file");
    },
  });
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
