import { type ChildServer, spawnServer } from "../support/child-server.ts";

/** Campaigns run on machines that are busy with other things and with their own load. */
export const patienceMs = 120_000;

/** A `plant-store serve` that is ready for requests. */
export function startServer(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ChildServer> {
  return spawnServer({ cwd, args, env, startTimeoutMs: patienceMs });
}
