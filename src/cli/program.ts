import { Command, CommanderError, Help } from "commander";
import { TokenFileError } from "../auth/token-file.ts";
import { version } from "../server/version.ts";
import { CopyError } from "../store/copy-error.ts";
import { BackupError, StoreOpenError, StoreReadError } from "../store/open-error.ts";
import { CommandFailure } from "./command-failure.ts";
import { WrongSettings } from "./settings/wrong-settings.ts";

/** Exit codes: 0 done, 1 failed, 2 a setting or the command line is wrong, 3 done but for a part. */
export type ExitCode = 0 | 1 | 2 | 3;

/** In the order of the help. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).createServeCommand(),
  token: async () => (await import("./token.ts")).createTokenCommand(),
  migrate: async () => (await import("./migrate.ts")).createMigrateCommand(),
  copy: async () => (await import("./copy.ts")).createCopyCommand(),
  import: async () => (await import("./import.ts")).createImportCommand(),
  export: async () => (await import("./export.ts")).createExportCommand(),
  backup: async () => (await import("./backup.ts")).createBackupCommand(),
  check: async () => (await import("./check.ts")).createCheckCommand(),
  config: async () => (await import("./config.ts")).createConfigCommand(),
};

/** Runs one command line, without the program's name. Never throws. */
export async function runCommand(args: readonly string[]): Promise<ExitCode> {
  const program = new Command("plant-store")
    .description("A plant store: one operation, served as gRPC, gRPC-Web, Connect and REST JSON.")
    .version(version, "-v, --version")
    .configureHelp({ formatItem })
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, "plant-store: ")),
    });
  for (const name of commandsFor(args)) {
    const command = await commands[name]?.();
    if (command !== undefined) program.addCommand(command);
  }
  for (const command of withSubcommands(program)) {
    command.exitOverride().copyInheritedSettings(program);
  }
  try {
    await program.parseAsync(args[0] === "version" ? ["--version"] : args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const lines = error instanceof WrongSettings ? error.lines : [describe(error)];
    for (const line of lines) process.stderr.write(`plant-store: ${line}\n`);
    if (error instanceof CommandFailure) return error.exitCode;
    return isWrongSetting(error) ? 2 : 1;
  }
}

/** Below a long flag where there is no room beside it, or terminals would break words. */
function formatItem(term: string, termWidth: number, text: string, help: Help): string {
  const width = help.helpWidth ?? 80;
  const isWide = text === "" || width - termWidth >= 60;
  if (isWide) return Help.prototype.formatItem.call(help, term, termWidth, text, help);
  return `  ${term}\n${help.boxWrap(text, width - 8).replaceAll(/^/gm, " ".repeat(8))}`;
}

/** Serve is loaded by itself, for the sake of its start; help tells of all. */
function commandsFor([name]: readonly string[]): readonly string[] {
  return name === "serve" ? [name] : Object.keys(commands);
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function isWrongSetting(error: unknown): boolean {
  if (error instanceof StoreOpenError) return error.code === "invalid_url";
  if (error instanceof TokenFileError) return error.code === "invalid_name";
  return error instanceof WrongSettings;
}

/** One line for what an operator can mend; the whole stack for what only we can. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof StoreOpenError || error instanceof TokenFileError) return error.message;
  if (error instanceof StoreReadError || error instanceof CopyError) return error.message;
  if (error instanceof CommandFailure || error instanceof BackupError) return error.message;
  if ("syscall" in error && error.syscall === "listen") return describeListen(error);
  if ("syscall" in error && error.syscall === "getaddrinfo") return describeLookUp(error);
  return error.stack ?? error.message;
}

function describeLookUp(error: Error & { hostname?: string; listener?: "admin" }): string {
  const flag = error.listener === "admin" ? "--admin-host" : "--host";
  return `${error.hostname} cannot be resolved; choose another ${flag}`;
}

interface ListenError extends Error {
  readonly code?: string;
  readonly address?: string;
  readonly port?: number;
  /** Absent for that of the service. */
  readonly listener?: "admin";
}

function describeListen(error: ListenError): string {
  const place = `${error.address} port ${error.port}`;
  const flag = error.listener === "admin" ? "--admin" : "-";
  switch (error.code) {
    case "EADDRINUSE":
      return `${place} is in use; choose another with ${flag}-port, or 0 for any free one`;
    case "EACCES":
      return `${place} needs more permissions; choose a ${flag}-port above 1023`;
    case "EADDRNOTAVAIL":
      return `${error.address} is not an address of this machine; choose another ${flag}-host`;
    default:
      return `cannot listen on ${place}: ${error.message}`;
  }
}
