import { Command, Option } from "commander";
import { describeStoreUrl, migrateStore, readSchemaState } from "../store/open.ts";

/** `plant-store migrate`: the schema of the store's database. `serve` migrates by itself. */
export function createMigrateCommand(): Command {
  const command = new Command("migrate").description(
    "Show the schema of the store's database, or bring it up to date.",
  );
  const storeOption = () =>
    new Option("--store <url>", "where plants are kept")
      .env("PLANT_STORE_STORE")
      .default("sqlite:./data/plants.db");
  command
    .command("status")
    .description("Tell how far the schema is, and change nothing.")
    .addOption(storeOption())
    .action(({ store }: StoreFlags) => writeState(store));
  command
    .command("up")
    .description("Bring the schema up to date. Safe while servers run, and more than once.")
    .addOption(storeOption())
    .action(async ({ store }: StoreFlags) => {
      await migrateStore(store);
      await writeState(store);
    });
  return command;
}

interface StoreFlags {
  readonly store: string;
}

async function writeState(store: string): Promise<void> {
  const { version, latest } = await readSchemaState(store);
  const isDue = version < latest ? ": migrations are due" : "";
  process.stdout.write(
    `${describeStoreUrl(store)} has schema version ${version} of ${latest}${isDue}\n`,
  );
}
