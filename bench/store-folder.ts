import { existsSync, readFileSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";

export interface StoreFolder extends AsyncDisposable {
  readonly path: string;
}

const folders = new Set<string>();
process.on("exit", () => {
  for (const path of folders) rmSync(path, { recursive: true, force: true });
});

/**
 * An empty directory inside another. Removed with its store at the end of an `await using`, or of
 * this process.
 */
export async function createStoreFolder(parent: string): Promise<StoreFolder> {
  await mkdir(parent, { recursive: true });
  const path = await mkdtemp(join(parent, "store-"));
  folders.add(path);
  return {
    path,
    async [Symbol.asyncDispose]() {
      await rm(path, { recursive: true });
      folders.delete(path);
    },
  };
}

/**
 * The type of a directory's file system, if the system reports it.
 *
 * @throws if it is in memory, where no store is durable.
 */
export function fileSystemOf(folder: string): string {
  if (!existsSync("/proc/mounts")) return "unknown file system";
  const path = `${resolve(folder)}/`;
  const [, type = "unknown file system"] = readFileSync("/proc/mounts", "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "))
    .map(([, mountPoint = "", type = ""]) => [mountPoint.replace(/\/?$/, "/"), type] as const)
    .filter(([mountPoint]) => path.startsWith(mountPoint))
    // Of equally long mount points, the last one hides the others.
    .reduce((best, mount) => (mount[0].length >= best[0].length ? mount : best), ["", ""] as const);
  if (type === "tmpfs" || type === "ramfs") {
    throw new Error(`${folder} is in memory (${type}); a durable store needs a disk`);
  }
  return type;
}
