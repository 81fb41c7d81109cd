/** Runs programs of others. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Without npm's own variables, and without the condition that selects the gateway's sources. */
export const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/.test(name)),
);

/** A toolchain or a registry is not available. This is not a failure of what is tested. */
export class Unavailable extends Error {}

/** @returns its output. @throws {Error} with its error output. */
export async function runTool(
  folder: string,
  [command, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const options = { cwd: folder, env: { ...environment, ...env }, timeout: 600_000 };
  try {
    return (await run(command, args, { ...options, maxBuffer: 2 ** 26 })).stdout;
  } catch (reason) {
    const { stdout = "", stderr = "" } = reason as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args[0] ?? ""}: ${stdout}${stderr}${reason}`);
  }
}

/** The same, for commands that only download a tool. @throws {Unavailable} */
export async function fetchTool(...parameters: Parameters<typeof runTool>): Promise<void> {
  try {
    await runTool(...parameters);
  } catch (reason) {
    throw new Unavailable(reason instanceof Error ? reason.message : String(reason));
  }
}
