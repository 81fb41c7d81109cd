import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command } from "commander";
import { createToken, listTokens, revokeToken } from "../auth/token-file.ts";
import { addSettingFlags, type Flags, flagsOf, readSettings } from "../settings/given.ts";
import type { Program } from "../settings/schema.ts";
import { cannot } from "./run.ts";

type Options = { readonly auth?: { readonly tokenFile?: string | undefined } | undefined };

/** `token`. @param fileOf The token file of the settings. Throws if no token may be written to it. */
export function createTokenCommand<O extends Options>(
  program: Program<O, unknown>,
  prefix: string,
  fileOf: (tokenFile: string | undefined) => string,
): Command {
  async function readTokenFile(own: Command): Promise<string> {
    const { options } = await readSettings(program, flagsOf(own), "token-file");
    return fileOf(options.auth?.tokenFile);
  }

  const command = new Command("token").description("Create, list and revoke bearer tokens.");
  const create = command
    .command("create <name>")
    .description("Create a token and print it. It is shown only once.")
    .action(async (name: string, _: Flags, own: Command) => {
      const file = await readTokenFile(own);
      const isNew = !existsSync(file);
      const token = await createToken(file, name, prefix);
      const lost = await new Promise((done) => process.stdout.write(`${token}\n`, done));
      if (lost instanceof Error) {
        await revokeToken(file, name);
        throw cannot("print", "the token, which is now revoked", lost);
      }
      const note = `created ${resolve(file)}; the token is valid on servers that use this file`;
      if (isNew) process.stderr.write(`${program.name}: ${note}\n`);
    });
  const list = command
    .command("list")
    .description("List the valid tokens and when they were created.")
    .option("--json", "an array of objects", false)
    .action(async (flags: Flags, own: Command) => {
      const file = await readTokenFile(own);
      const tokens = await listTokens(file);
      const shown = tokens.map(({ name, createdAt }) => ({ name, createdAt }));
      const lines = shown.map(({ name, createdAt }) => `${createdAt}  ${name}\n`);
      process.stdout.write(flags["json"] ? `${JSON.stringify(shown)}\n` : lines.join(""));
      if (flags["json"] || lines.length > 0) return;
      const problem = existsSync(file) ? "has no valid token" : "does not exist";
      process.stderr.write(`${program.name}: ${file} ${problem}\n`);
    });
  const revoke = command
    .command("revoke <name>")
    .description("Revoke a token. Running servers reject it within a second.")
    .action(async (name: string, _: Flags, own: Command) => {
      await revokeToken(await readTokenFile(own), name);
      process.stderr.write(`revoked ${name}\n`);
    });
  for (const one of [create, list, revoke]) addSettingFlags(program, one, "token-file");
  return command;
}
