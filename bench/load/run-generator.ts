import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pinLoad } from "../cores.ts";
import type { Load, LoadResult } from "./load.ts";

const run = promisify(execFile);
const generator = fileURLToPath(new URL("generator.ts", import.meta.url));

/** Far more than any planned load takes. */
const timeoutMs = 15 * 60_000;

/** Runs a load in a separate process, on the cores of the load. */
export async function runGenerator(load: Load): Promise<LoadResult> {
  const [command, ...args] = pinLoad([process.execPath, generator, JSON.stringify(load)]);
  const { stdout } = await run(command, args, { timeout: timeoutMs });
  return JSON.parse(stdout);
}
