import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Tree } from "./disk.ts";

/** Writes a tree to a new directory. */
export async function materialise(tree: Tree, path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  for (const [name, entry] of tree) {
    const below = join(path, name);
    if (Buffer.isBuffer(entry)) await writeFile(below, entry);
    else await materialise(entry, below);
  }
}
