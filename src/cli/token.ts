import { Command, Option } from "commander";
import { createToken, listTokens, revokeToken } from "../auth/token-file.ts";

/** `plant-store token`: the opaque tokens of a token file. */
export function createTokenCommand(): Command {
  const command = new Command("token").description("Make, list and revoke bearer tokens.");
  const fileOption = () =>
    new Option("--token-file <path>", "where bearer tokens are kept")
      .env("PLANT_STORE_TOKEN_FILE")
      .default("./data/tokens");
  command
    .command("create <name>")
    .description("Make a token and print it: the only time that it is shown.")
    .addOption(fileOption())
    .action(async (name: string, { tokenFile }: TokenFlags) => {
      process.stdout.write(`${await createToken(tokenFile, name)}\n`);
    });
  command
    .command("list")
    .description("List the tokens that are valid, with the time they were made.")
    .addOption(fileOption())
    .action(async ({ tokenFile }: TokenFlags) => {
      for (const { name, createdAt } of await listTokens(tokenFile)) {
        process.stdout.write(`${createdAt}  ${name}\n`);
      }
    });
  command
    .command("revoke <name>")
    .description("Make a token invalid, within a second on running servers.")
    .addOption(fileOption())
    .action(async (name: string, { tokenFile }: TokenFlags) => {
      await revokeToken(tokenFile, name);
      process.stderr.write(`revoked ${name}\n`);
    });
  return command;
}

interface TokenFlags {
  readonly tokenFile: string;
}
