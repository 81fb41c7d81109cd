import { once } from "node:events";
import { fstatSync } from "node:fs";
import { rm } from "node:fs/promises";
import { CommandFailure, cannot } from "connect-gateway-kit/command/run";
import { realPath } from "../store/sqlite/files.ts";
import { writeRejection } from "../transfer/ndjson.ts";
import type { Rejection } from "../transfer/plant-import.ts";
import { assertMayWrite, type OutputFile, openOutputFile, statsOf } from "./output-file.ts";

const kind = "a file of rejected rows";

/**
 * Writes the rejected rows of an import as NDJSON, which `import` reads after you fix it.
 * @param beforeWrite Called before a line goes to standard error. @throws {CommandFailure}
 */
export function openRejects(
  source: string,
  { rejects, force }: { readonly rejects?: string; readonly force: boolean },
  beforeWrite: () => void,
) {
  const isFile = source !== "-" && statsOf(source)?.isFile() === true;
  const path = rejects ?? (isFile ? `${source}.rejects.ndjson` : undefined);
  if (path !== undefined) {
    const [old, read] = [statsOf(path), source === "-" ? fstatSync(0) : statsOf(source)];
    // Both may be one terminal.
    if (old?.isCharacterDevice() === false && old.dev === read?.dev && old.ino === read.ino) {
      throw new CommandFailure(2, "--rejects names the file that is imported");
    }
    assertMayWrite({ path, kind, force });
  }
  let output: OutputFile | undefined;
  /** Rejections come from concurrent calls and are written one at a time. */
  let last: Promise<void> = Promise.resolve();

  async function append(text: string): Promise<void> {
    if (path === undefined) {
      beforeWrite();
      if (!process.stderr.write(text)) await once(process.stderr, "drain");
      return;
    }
    try {
      output ??= await openOutputFile({ path, kind, force });
      await output.write(Buffer.from(text));
    } catch (error) {
      throw cannot("write rejected rows to", path, error);
    }
  }

  return {
    /** The name of the destination, for messages. */
    place: path ?? "above",
    write({ line, reason, row }: Rejection): Promise<void> {
      last = last.then(() => append(writeRejection(line, reason, row)));
      return last;
    },
    async close(): Promise<void> {
      await using written = output;
      await written?.commit();
    },
    /** Call when every row is stored: rows that an earlier import rejected are no longer of use. */
    async removeOld(): Promise<void> {
      if (path === undefined || !force || output !== undefined) return;
      assertMayWrite({ path, kind, force: true });
      if (statsOf(path)?.isFile() === true) await rm(realPath(path));
    },
  };
}
