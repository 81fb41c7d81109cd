import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** A file that is there whole, or as it was before. */
export interface OutputFile extends AsyncDisposable {
  write(bytes: Uint8Array): Promise<void>;
  /** Puts it in its place, on stable storage. Without that, nothing is left of it. */
  commit(): Promise<void>;
}

/**
 * Opens a file for writing, for its owner alone, in place of what is there. What
 * is not a regular file (a pipe, a device) is written to as it is.
 */
export async function openOutputFile(path: string): Promise<OutputFile> {
  // A link stays, and what it leads to is replaced.
  const target = await realpath(path).catch(() => path);
  const old = await stat(target).catch(() => undefined);
  if (old !== undefined && !old.isFile()) return toStream(await open(target, "w"));
  // A number of this process would not do: in a container it may be that of one killed before.
  // Short, as names have an end: it is made here or not at all, so that none is taken twice.
  const mark = randomBytes(4).toString("hex");
  const temporary = join(dirname(target), `.${basename(target)}.part-${mark}`);
  const handle = await open(temporary, "wx", 0o600);
  let isThere = true;
  return {
    write: (bytes) => handle.writeFile(bytes),
    async commit() {
      await handle.sync();
      await rename(temporary, target);
      isThere = false;
      await syncFolder(dirname(target));
    },
    async [Symbol.asyncDispose]() {
      await handle.close();
      if (isThere) await rm(temporary, { force: true });
    },
  };
}

function toStream(handle: FileHandle): OutputFile {
  return {
    write: (bytes) => handle.writeFile(bytes),
    commit: async () => {},
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open a folder; NTFS journals its entries.
  if (process.platform === "win32") return;
  await using handle = await open(folder, constants.O_RDONLY);
  await handle.sync();
}
