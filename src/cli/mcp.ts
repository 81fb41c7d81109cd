import { Command } from "commander";
import { listenForStop } from "connect-gateway-kit/command/process";
import { serveMcp } from "connect-gateway-kit/command/stdio";
import { addSettingFlags, type Flags, readSettings } from "connect-gateway-kit/settings";
import { createMcpHandler } from "../server/mcp.ts";
import { plantStore } from "../server/settings.ts";
import { parseStoreUrl } from "../server/store-url.ts";
import { openStore } from "../store/open.ts";

const used = ["store", "log-format"];

export function createMcpCommand(): Command {
  return addSettingFlags(plantStore, new Command("mcp"), ...used)
    .description("Serve language models on standard input and output, by MCP, without a port.")
    .addHelpText("after", notes)
    .action(async (flags: Flags) => {
      const { settings } = await readSettings(plantStore, flags, ...used);
      const failed = new AbortController();
      const onFailure = (error: Error) => failed.abort(error);
      const store = await openStore(parseStoreUrl(settings.store), { onFailure });
      using stop = listenForStop();
      try {
        await serveMcp(createMcpHandler(settings, store), stop.signal, failed.signal);
      } finally {
        await store.close();
      }
      failed.signal.throwIfAborted(); // it may also fail as it is closed
    });
}

const notes = `
It ends with its input, or with exit code 1 when the store fails for good. Logs go to standard error. It
needs no token: anyone who can start it can write to the store. A server may use the store meanwhile.`;
