import { Command } from "commander";
import { createConfigCommand } from "connect-gateway-kit/command/config";
import { createHealthCommand } from "connect-gateway-kit/command/health";
import { CommandFailure, runCommandLine } from "connect-gateway-kit/command/run";
import { createTokenCommand } from "connect-gateway-kit/command/token";
import { assertPortTls } from "connect-gateway-kit/settings";
import { version } from "../server/version.ts";
import { StoreError } from "../store/open-error.ts";

const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).createServeCommand(),
  token: async () => {
    const { plantStore, schema, tokenPrefix } = await import("../server/settings.ts");
    const { assertTokenFile } = await import("./output-file.ts");
    return createTokenCommand(plantStore, tokenPrefix, (file) =>
      assertTokenFile(file ?? schema.auth.tokenFile.default ?? ""),
    );
  },
  migrate: async () => (await import("./migrate.ts")).createMigrateCommand(),
  copy: async () => (await import("./copy.ts")).createCopyCommand(),
  import: async () => (await import("./import.ts")).createImportCommand(),
  export: async () => (await import("./export.ts")).createExportCommand(),
  backup: async () => (await import("./backup.ts")).createBackupCommand(),
  check: async () => (await import("./check.ts")).createCheckCommand(),
  mcp: async () => (await import("./mcp.ts")).createMcpCommand(),
  config: async () => {
    const { plantStore } = await import("../server/settings.ts");
    return createConfigCommand(plantStore, ({ tls }) => assertPortTls(tls));
  },
  health: async () => createHealthCommand((await import("../server/settings.ts")).plantStore),
};

/**
 * Runs one command line, without the program's name. Never throws.
 * @returns 0: success, 1: failure, 2: an invalid setting or command line, 3: partial success.
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  const program = new Command("plant-store")
    .description("A plant store: one operation, served as gRPC, gRPC-Web, Connect and REST JSON.")
    .version(version, "-v, --version");
  const [first = ""] = args;
  // Loads only the given command, to start faster. Help loads all of them.
  for (const name of Object.hasOwn(commands, first) ? [first] : Object.keys(commands)) {
    const command = await commands[name]?.();
    if (command !== undefined) program.addCommand(command);
  }
  program
    .command("start", { hidden: true })
    .argument("[words...]")
    .allowUnknownOption()
    .action(() => {
      throw new CommandFailure(2, "unknown command 'start'; did you mean serve?");
    });
  return await runCommandLine(program, args, [StoreError]);
}
