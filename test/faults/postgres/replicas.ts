import { type ChildServer, spawnServer } from "../../support/child-server.ts";
import type { StoredPlant } from "../../support/stored-plants.ts";
import { linesOf, Recorder } from "../history/recorder.ts";
import { openCallers } from "../load/caller.ts";
import { createClients } from "../load/client.ts";
import { Load } from "../load/load.ts";
import { patienceMs } from "../start-server.ts";

/** Servers on one database, and clients that use all of them. */
export interface Replicas extends AsyncDisposable {
  readonly recorder: Recorder;
  readonly load: Load;
  /** Ends the load and checks the history. @returns a line for each broken promise. */
  finish(read: () => Promise<readonly StoredPlant[]>): Promise<string[]>;
}

/** From less than a statement may take to less than the servers' retries. */
const deadlinesMs = [3000, 9000] as const;

/** @param urls The store URL of each replica. */
export async function openReplicas(
  where: string,
  urls: readonly string[],
  seed: number,
  clientCount = 10,
): Promise<Replicas> {
  const stack = new AsyncDisposableStack();
  try {
    const servers: ChildServer[] = [];
    for (const url of urls) {
      const args = ["--store", url];
      servers.push(stack.use(await spawnServer({ args, startTimeoutMs: patienceMs })));
    }
    const callers = stack.use(openCallers(servers.map(({ url }) => url)));
    const recorder = new Recorder();
    const clients = createClients(clientCount, { seed, recorder, deadlinesMs });
    const load = stack.use(new Load({ clients, recorder, callers }));
    return {
      recorder,
      load,
      async finish(read) {
        const found: string[] = [];
        await load.settle().catch((error: Error) => found.push(`${where}: ${error.message}`));
        await recorder.read(read);
        const ended = servers.filter(({ process }) => process.exitCode !== null);
        found.push(...ended.map(({ stderr }) => `${where}: a replica ended: ${stderr.text}`));
        return [...found, ...linesOf(recorder.check(), where)];
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
