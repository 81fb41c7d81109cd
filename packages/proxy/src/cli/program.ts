import { createRequire } from "node:module";
import { RuleError } from "connect-gateway";
import { DescriptorError, reflectServices } from "../services/index.ts";
import { checkServed } from "./check.ts";
import { CommandError } from "./command-error.ts";
import { formatHelp, parseFlags } from "./flags.ts";
import { readRules } from "./rules.ts";
import { serveUpstreams } from "./serve.ts";
import { createServed, type Part } from "./served.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { openUpstreams, readDescriptorFile } from "./upstream.ts";

/** Exit codes: 0 done, 1 failed, 2 the command line or a file that it names is wrong. */
export type ExitCode = 0 | 1 | 2;

/** Runs one command line, without the program's name. Never throws. */
export async function runCommand(args: readonly string[]): Promise<ExitCode> {
  try {
    const flags = parseFlags(args);
    if (flags.help === true) return print(formatHelp());
    if (flags.version === true) return print(`${version}\n`);
    const settings = resolveSettings(flags);
    if (flags.check === true) return await check(settings);
    await serveUpstreams(settings, version);
    return 0;
  } catch (error) {
    process.stderr.write(`connect-gateway-proxy: ${describe(error)}\n`);
    return error instanceof CommandError ? error.exitCode : 1;
  }
}

const version: string = createRequire(import.meta.url)(
  "connect-gateway-proxy/package.json",
).version;

function print(text: string): ExitCode {
  process.stdout.write(text);
  return 0;
}

async function check(settings: Settings): Promise<ExitCode> {
  const rules = settings.rules === undefined ? [] : readRules(settings.rules);
  const served = createServed(await readParts(settings), rules);
  const report = checkServed(served, settings);
  print(report.served.map((line) => `${line}\n`).join(""));
  for (const problem of report.problems)
    process.stderr.write(`connect-gateway-proxy: ${problem}\n`);
  return report.problems.length === 0 ? 0 : 1;
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
          throw new CommandError(`${url}: ${(cause as Error).message}`, { exitCode: 1, cause });
        }
      }),
    );
  } finally {
    for (const { transport } of upstreams) transport.close();
  }
}

/** One line for what can be fixed; the whole stack for what only we can. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isKnown =
    error instanceof CommandError ||
    error instanceof RuleError ||
    error instanceof DescriptorError ||
    ("syscall" in error && (error.syscall === "listen" || error.syscall === "getaddrinfo"));
  return isKnown ? error.message : (error.stack ?? error.message);
}
