import { execFile } from "node:child_process";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  createTemporaryFolder,
  memoryFolder,
} from "../../../packages/gateway/test/support/temporary-folder.ts";
import type { Run } from "../campaign.ts";

const source = fileURLToPath(new URL("./shim.c", import.meta.url));

export interface Place {
  /** A directory in memory. */
  readonly folder: string;
  readonly shimPath: string;
}

/** Runs a campaign with the shim, unless this machine cannot compile it. */
export async function withShim(run: Run, work: (place: Place) => Promise<void>): Promise<void> {
  await using workplace = await createTemporaryFolder(memoryFolder);
  const shimPath = join(workplace.path, "shim.so");
  const args = ["-shared", "-fPIC", "-O2", "-o", shimPath, source, "-ldl", "-lpthread"];
  if (process.platform !== "linux") return run.skip("calls are recorded on Linux alone");
  try {
    await promisify(execFile)("cc", args);
    // PostgreSQL runs as another user.
    await chmod(workplace.path, 0o755);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return run.skip("there is no C compiler (cc)");
  }
  await work({ folder: workplace.path, shimPath });
}
