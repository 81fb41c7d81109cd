import { Command, Option } from "commander";
import { listenForStop } from "connect-gateway-kit/command/process";
import { CommandFailure, cannot } from "connect-gateway-kit/command/run";
import { addSettingFlags, type Flags, readSettings } from "connect-gateway-kit/settings";
import { plantStore } from "../server/settings.ts";
import { parseStoreUrl } from "../server/store-url.ts";
import { openPlantReader } from "../store/open.ts";
import { readPages } from "../store/plant-reader.ts";
import {
  type FormatName,
  formatNames,
  formatOfFile,
  formats,
  isZipped,
  writePlants,
} from "../transfer/format.ts";
import { zip } from "../transfer/unzip.ts";
import { type OutputFile, openOutputFile, statsOf } from "./output-file.ts";
import { createProgress } from "./progress.ts";

export function createExportCommand(): Command {
  const command = new Command("export")
    .description("Write all plants of a store to a file or standard output.")
    .addOption(
      new Option("--format <name>", "default: by the file name, else ndjson").choices(formatNames),
    )
    .option("-o, --output <file>", "the file to write, once it is whole; .gz compresses it", "-")
    .option("--force", "replace an existing export", false)
    .addHelpText("after", notes)
    .action(exportPlants);
  return addSettingFlags(plantStore, command, "store");
}

const notes = `
It writes one snapshot, in the order of the ids. Servers may use the store meanwhile. Ids are exact:
JSON parsers that use doubles round those above 2^53.
Exit codes: 0 written, or the reader closed the pipe; 1 failed, 2 wrong usage.`;

async function exportPlants(flags: Flags & { format?: FormatName; output: string }) {
  const { store } = (await readSettings(plantStore, flags, "store")).settings;
  const { format, output } = flags;
  const name = format ?? formatOfFile(output) ?? "ndjson";
  // A stream has nothing to clean up, and its reader may keep the process waiting.
  const isStream = output === "-" || statsOf(output)?.isFile() === false;
  // Opening may take minutes and makes nothing, so a signal ends it.
  await using reader = await openPlantReader(parseStoreUrl(store));
  using stop = isStream ? undefined : listenForStop();
  using progress = createProgress();
  try {
    const force = flags["force"] === true;
    await using file =
      output === "-"
        ? standardOutput
        : await openOutputFile({ path: output, kind: "a file of plants", force });
    const onPage = (done: number) => {
      if (stop?.signal.aborted) throw new CommandFailure(1, "interrupted");
      progress.update("exporting", done, reader.count);
    };
    const content = writePlants(readPages(reader), formats[name], onPage);
    for await (const bytes of isZipped(output) ? zip(content) : content) await file.write(bytes);
    await file.commit();
  } catch (error) {
    // The reader closed the pipe.
    if (error instanceof Error && "code" in error && error.code === "EPIPE") return;
    throw error instanceof Error && "syscall" in error ? cannot("write", output, error) : error;
  }
}

const standardOutput: Omit<OutputFile, "temporary"> = {
  write: (bytes) =>
    new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
    }),
  commit: async () => {},
  [Symbol.asyncDispose]: async () => {},
};
