import { Command } from "commander";
import { listenForStop } from "connect-gateway-kit/command/process";
import { serveMcp } from "connect-gateway-kit/command/stdio";
import { createMcpHandler } from "../server/mcp.ts";
import { parseStoreUrl } from "../server/store-url.ts";
import { openStore } from "../store/open.ts";
import { addSettingFlags, type Flags, readSettings } from "./settings.ts";

const used = ["store", "log-format"];

export function createMcpCommand(): Command {
  const command = new Command("mcp")
    .description("Serve language models on standard input and output, by MCP, without a port.")
    .addHelpText("after", notes)
    .action(async (flags: Flags) => {
      const { settings } = await readSettings(flags, ...used);
      using stop = listenForStop();
      const store = await openStore(parseStoreUrl(settings.store));
      try {
        await serveMcp(createMcpHandler(settings, store), stop.signal);
      } finally {
        await store.close();
      }
    });
  return addSettingFlags(command, ...used);
}

const notes = `
It ends with its input. Logs go to standard error. It needs no token: whoever can start it can write
to the store. Servers and other programs of plant-store may use the store meanwhile.`;
