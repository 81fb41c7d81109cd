import { statSync } from "node:fs";
import { Command } from "commander";
import { listTokens, TokenFileError } from "connect-gateway-kit/auth/token-file";
import { CommandFailure } from "connect-gateway-kit/command/run";
import { addSettingFlags, type Flags, readSettings } from "connect-gateway-kit/settings";
import { plantStore } from "../server/settings.ts";
import { parseStoreUrl } from "../server/store-url.ts";
import { tokenCommand } from "../server/token-command.ts";
import { version } from "../server/version.ts";
import { checkStore, describeStore, type StoreLocation } from "../store/open.ts";
import { type Finding, finding } from "../store/options.ts";

export function createCheckCommand(): Command {
  const command = new Command("check")
    .description("Check the store, its disk and the token file. Changes no plant.")
    .option("--json", "one object, with an array of findings", false)
    .addHelpText("after", notes)
    .action(check);
  return addSettingFlags(plantStore, command, "store", "token-file");
}

const notes = `
It prints a line for each check: ok, warn or fail, and what to do. Servers may use the store
meanwhile. For PostgreSQL, it checks what a server checks at startup, but not the disk.
Exit codes: 0 nothing fails, 1 something does, 2 wrong usage.`;

async function check(flags: Flags): Promise<void> {
  const { settings } = await readSettings(plantStore, flags, "store", "token-file");
  const store = parseStoreUrl(settings.store);
  const isJson = flags["json"] === true;
  const write = (text: string) => void (isJson || process.stdout.write(text));
  const found: Finding[] = [];
  write(`plant-store ${version}, ${describeStore(store)}\n`);
  for await (const finding of findings(store, settings.auth.tokenFile)) {
    const { level, subject, text } = finding;
    const line = text.replaceAll(/\p{Cc}/gu, "\ufffd");
    write(`${level.padEnd(4)}  ${subject.padEnd(10)}  ${line}\n`);
    found.push(finding);
  }
  if (isJson) {
    const report = { version, store: describeStore(store), findings: found };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  }
  const fails = found.filter(({ level }) => level === "fail").length;
  if (fails > 0) throw new CommandFailure(1, `failed checks: ${fails}`);
}

async function* findings(
  store: StoreLocation,
  tokenFile: string | undefined,
): AsyncGenerator<Finding, void> {
  yield finding("ok", "Node", process.versions.node);
  if (tokenFile !== undefined) yield* checkTokenFile(tokenFile);
  yield* checkStore(store);
}

async function* checkTokenFile(file: string): AsyncGenerator<Finding, void> {
  const subject = "tokens";
  try {
    const { length } = await listTokens(file);
    const stats = statSync(file, { throwIfNoEntry: false });
    const advice = `to use opaque tokens, run: ${tokenCommand(file)} NAME`;
    if (stats === undefined) {
      yield finding("warn", subject, `${file} does not exist; ${advice}`);
      return;
    }
    if (length > 0) yield finding("ok", subject, `${length} in ${file}`);
    else yield finding("warn", subject, `0 in ${file}; ${advice}`);
    if (process.platform !== "win32" && (stats.mode & 0o044) !== 0) {
      yield finding("warn", subject, `other users can read the digests; run: chmod 600 ${file}`);
    }
  } catch (error) {
    if (!(error instanceof TokenFileError)) throw error;
    yield finding("fail", subject, error.message);
  }
}
