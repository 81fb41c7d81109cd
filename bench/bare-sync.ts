import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** One append of 4 KiB to a file, and its `fdatasync`. */
export interface BareSync {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const probe = fileURLToPath(new URL("load/sync-probe.ts", import.meta.url));

/** In a separate process, so that a sync delay applies to it as it does to servers. */
export async function measureBareSync(folder: string, seconds: number): Promise<BareSync> {
  const file = join(folder, "sync-probe");
  const { stdout } = await promisify(execFile)(process.execPath, [probe, file, `${seconds}`]);
  await rm(file);
  return JSON.parse(stdout);
}
