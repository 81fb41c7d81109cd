import { Command } from "commander";
import { getLogger } from "connect-gateway-kit/logging";
import { runUntilStopped } from "connect-gateway-kit/program";
import { addSettingFlags, type Flags, readSettings } from "connect-gateway-kit/settings";
import { plantStore } from "../server/settings.ts";
import { type RunningServer, startServer } from "../server/start.ts";
import { tokenCommand } from "../server/token-command.ts";
import { assertTokenFile } from "./output-file.ts";

export function createServeCommand(): Command {
  const command = new Command("serve").description("Run the server.");
  return addSettingFlags(plantStore, command).action(async (flags: Flags) => {
    const { options, settings, use } = await readSettings(plantStore, flags);
    if (settings.auth.tokenFile !== undefined) assertTokenFile(settings.auth.tokenFile);
    // A journal, docker logs or a file would keep the token.
    const showsToken = process.stdout.isTTY === true && settings.logFormat !== "json";
    const server = await use(() => startServer({ ...options, createsFirstToken: showsToken }));
    const { program, failed, close } = server;
    const command = `${tokenCommand(settings.auth.tokenFile)} NAME`;
    const running = { failed, announce: () => tellStart(server), tokenCommand: command };
    await runUntilStopped(program, running).finally(close);
  });
}

async function tellStart(server: RunningServer): Promise<void> {
  const { logFormat } = server.settings;
  const { listeningEvent, welcome } = await import("./welcome.ts");
  if (logFormat === "json") getLogger("json").info(listeningEvent(server), "listening");
  else process.stdout.write(welcome(server));
}
