import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory in memory if the system has one, for thousands of stores. */
export const memoryFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** An empty directory, removed with its contents at the end of an `await using`. */
export async function createTemporaryFolder(parent = tmpdir()) {
  const path = await mkdtemp(join(parent, "connect-gateway-test-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
