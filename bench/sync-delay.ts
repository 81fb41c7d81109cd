import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("sync-delay.c", import.meta.url));

/** Delays each sync of a process. */
export interface SyncDelay {
  readonly LD_PRELOAD: string;
  readonly SYNC_DELAY_MS: string;
}

/**
 * Compiles the library that delays syncs.
 *
 * It replaces libc's `fsync` and `fdatasync`, which SQLite calls in Node, in Go with cgo, and in
 * Rust. Go's own `File.Sync` is a system call without libc, and is not delayed. No server here uses
 * it.
 *
 * @param folder The directory for the library.
 * @returns The environment of the processes to delay.
 * @throws if gcc is missing.
 */
export function createSyncDelay(ms: number, folder: string): SyncDelay {
  const library = join(folder, "sync-delay.so");
  mkdirSync(dirname(library), { recursive: true });
  try {
    execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"]);
  } catch (cause) {
    throw new Error("--sync-delay-ms needs gcc and Linux", { cause });
  }
  return { LD_PRELOAD: library, SYNC_DELAY_MS: `${ms}` };
}
