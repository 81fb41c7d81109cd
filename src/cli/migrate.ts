import { Command } from "commander";
import { addSettingFlags, type Flags, readSettings } from "connect-gateway-kit/settings";
import { plantStore } from "../server/settings.ts";
import { parseStoreUrl } from "../server/store-url.ts";
import { describeStore, migrateStore, readSchemaState, type StoreLocation } from "../store/open.ts";

export function createMigrateCommand(): Command {
  const command = new Command("migrate").description("Show or migrate the schema of the store.");
  addSettingFlags(plantStore, command.command("status"), "store")
    .description("Show the schema version. Changes nothing.")
    .action((flags: Flags) => readStore(flags).then(writeState));
  addSettingFlags(plantStore, command.command("up"), "store")
    .description(
      "Migrate the schema to the latest version. Safe to repeat, and while servers of this release or the one before run.",
    )
    .action(async (flags: Flags) => {
      const store = await readStore(flags);
      await migrateStore(store);
      await writeState(store);
    });
  return command;
}

async function readStore(flags: Flags): Promise<StoreLocation> {
  return parseStoreUrl((await readSettings(plantStore, flags, "store")).settings.store);
}

async function writeState(store: StoreLocation): Promise<void> {
  const { version, latest } = await readSchemaState(store);
  const isDue = version < latest ? ": migrations are due" : "";
  process.stdout.write(
    `${describeStore(store)} has schema version ${version} of ${latest}${isDue}\n`,
  );
}
