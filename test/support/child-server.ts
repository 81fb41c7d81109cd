import { type Child, type ChildOptions, spawnChild } from "./child.ts";
import { knownToken } from "./test-server.ts";

export interface ChildServer extends Child {
  readonly url: string;
  readonly port: number;
}

export interface ChildServerOptions extends ChildOptions {
  readonly args?: readonly string[];
  /** The startup timeout. */
  readonly startTimeoutMs?: number;
}

/**
 * `plant-store serve` on a free port, ready for requests. It accepts the tests' token unless the
 * environment says otherwise.
 */
export async function spawnServer(options: ChildServerOptions): Promise<ChildServer> {
  const env = { PLANT_STORE_TOKENS: knownToken, ...options.env };
  const args = ["serve", "--port", "0", ...(options.args ?? [])];
  const child = spawnChild(args, { ...options, env });
  try {
    const welcome = /listens on (\S+)(?:.|\n)*-d .\{"plant".*\n.*\n\n/;
    const ready = child.stdout.until(welcome, options.startTimeoutMs);
    ready.catch(() => {});
    const ended = child.exited.then(() => Promise.reject(new Error("it ended")));
    const [, url = ""] = await Promise.race([ready, ended]);
    return { ...child, url, port: Number(new URL(url).port) };
  } catch (cause) {
    await child[Symbol.asyncDispose]();
    throw new Error(`the server did not start: ${child.stderr.text}`, { cause });
  }
}
