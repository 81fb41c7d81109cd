import { join } from "node:path";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { type Child, type ChildOptions, spawnChild } from "./child.ts";
import { knownToken } from "./test-server.ts";

export interface ChildServer extends Child {
  readonly url: string;
  readonly port: number;
}

export type SpawnedServer = Awaited<ReturnType<typeof spawnServer>>;

export interface ChildServerOptions extends Omit<ChildOptions, "cwd"> {
  /** Default: a temporary one, removed after the process. */
  readonly cwd?: string;
  readonly args?: readonly string[];
  readonly startTimeoutMs?: number;
}

/**
 * `plant-store serve` on a free port, ready for requests. It accepts the tests' token unless the
 * environment says otherwise.
 */
export async function spawnServer(options: ChildServerOptions = {}) {
  await using stack = new AsyncDisposableStack();
  const cwd = options.cwd ?? stack.use(await createTemporaryFolder()).path;
  const env = { PLANT_STORE_TOKENS: knownToken, ...options.env };
  const args = ["serve", "--port", "0", ...(options.args ?? [])];
  const child = stack.use(spawnChild(args, { ...options, cwd, env }));
  try {
    const welcome = /listens on (\S+)(?:.|\n)*-d .\{"plant".*\n.*\n\n/;
    const [, url = ""] = await child.stdout.until(welcome, options.startTimeoutMs);
    const opened = stack.move();
    return {
      ...{ ...child, url, cwd, port: Number(new URL(url).port) },
      /** Where its SQLite file is by default. */
      database: join(cwd, "data/plants.db"),
      [Symbol.asyncDispose]: () => opened.disposeAsync(),
    };
  } catch (cause) {
    // All its output has arrived then.
    await child[Symbol.asyncDispose]();
    throw new Error(`the server did not start: ${child.stderr.text}`, { cause });
  }
}
