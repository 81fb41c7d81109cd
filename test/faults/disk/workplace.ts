import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory in memory if the system has one, because thousands of stores are created there. */
export interface Workplace extends AsyncDisposable {
  readonly path: string;
}

export async function createWorkplace(): Promise<Workplace> {
  const shared = "/dev/shm";
  const path = await mkdtemp(join(existsSync(shared) ? shared : tmpdir(), "plant-store-faults-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
