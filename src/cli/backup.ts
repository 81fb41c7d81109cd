import { Command } from "commander";
import { listenForStop } from "connect-gateway-kit/command/process";
import {
  addSettingFlags,
  type Flags,
  readSettings,
  SettingsError,
} from "connect-gateway-kit/settings";
import { plantStore } from "../server/settings.ts";
import { parseStoreUrl } from "../server/store-url.ts";
import { describeStore } from "../store/open.ts";
import { backupDatabase } from "../store/sqlite/backup.ts";
import { openOutputFile } from "./output-file.ts";
import { count, createProgress } from "./progress.ts";

export function createBackupCommand(): Command {
  const command = new Command("backup")
    .description("Copy an SQLite store to one file, and verify the copy.")
    .argument("<file>", "the file to write")
    .option("--force", "replace an existing backup", false)
    .addHelpText("after", notes)
    .action(backUp);
  return addSettingFlags(plantStore, command, "store");
}

const notes = `
Servers may use the store meanwhile; its log grows until the copy is done. The file appears when it
is complete, verified and synced, with the permissions of the store. If a backup was killed, the next
one names the temporary file that it left. To restore a backup, stop the server, delete the store's
-wal, -shm and -journal files, and put the file in the place of the store.
Exit codes: 0 made and verified, 1 failed, 2 wrong usage, or not an SQLite store.`;

async function backUp(file: string, flags: Flags): Promise<void> {
  const { settings, use } = await readSettings(plantStore, flags, "store");
  const store = parseStoreUrl(settings.store);
  using stop = listenForStop();
  using progress = createProgress();
  const force = flags["force"] === true;
  await using output = await openOutputFile({ path: file, kind: "a backup", force });
  const onProgress = (done: number, total: number) => progress.update("copying pages", done, total);
  const onCopied = () => stop[Symbol.dispose](); // then a signal ends the process
  const backup = { file: output.temporary, signal: stop.signal, onProgress, onCopied };
  const plants = await use(async () => {
    if (store.engine === "sqlite") return await backupDatabase(store.path, backup);
    const problem =
      "a PostgreSQL database is backed up by its own means: pg_dump, or a base backup and its log";
    throw new SettingsError([{ setting: "store", problem }]);
  });
  await output.commit();
  progress.end();
  process.stdout.write(
    `backed up ${describeStore(store)} to ${file}: ${count(plants, "plant")}, integrity checked\n`,
  );
}
