import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { patienceMs, within } from "../../packages/gateway/test/support/within.ts";
import { createRecordedLog } from "../../packages/kit/test/support/recorded-log.ts";
import { knownToken } from "../../packages/kit/test/support/token-leaks.ts";
import type { ServerOptions } from "../../src/server/settings.ts";
import { startServer } from "../../src/server/start.ts";

export { knownToken };

export type TestServer = Awaited<ReturnType<typeof openTestServer>>;

export interface TestServerOptions extends Omit<ServerOptions, "store" | "log"> {
  /** The SQLite file. Default: one in its own directory. */
  readonly database?: string;
  readonly store?: string;
}

export async function openTestServer(options: TestServerOptions = {}) {
  const { database: given, ...rest } = options;
  await using stack = new AsyncDisposableStack();
  stack.defer(beginLeakCheck());
  const database = given ?? join(stack.use(await createTemporaryFolder()).path, "plants.db");
  const log = createRecordedLog();
  const running = await startServer({
    port: 0,
    auth: { tokenFile: undefined, tokens: [knownToken] },
    drainTimeoutMs: 2000,
    store: `sqlite:${database}`,
    ...rest,
    log,
  });
  const port = Number(new URL(running.url).port);
  stack.defer(() => within("the end of the server", running.close()));
  const opened = stack.move();

  async function close(): Promise<void> {
    await opened.disposeAsync();
    const failure = log.lines.find(({ level }) => level === "error");
    if (failure !== undefined) {
      throw new Error(`the server failed: ${failure.message}`, { cause: failure.cause });
    }
  }

  let closed: Promise<void> | undefined;
  const closeOnce = () => {
    closed ??= close();
    return closed;
  };
  return {
    /** For clients, including the base path. */
    url: running.url,
    ...{ port, database, log, running },
    /** Closes the server. Fails if anything of it is left, or if it had an internal error. */
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

/** Resources that servers hold open and clients do not: listeners, threads, watched files. */
const kinds = ["TCPServerWrap", "MessagePort", "StatWatcher"];

/** Concurrent tests share the process, so their servers are counted together. */
let serverCount = 0;
let before: readonly string[] = [];

/**
 * Call before a server starts.
 *
 * @returns A function to call when the server has closed or failed to start. The last one rejects
 * if any of the servers left something behind.
 */
function beginLeakCheck(): () => Promise<void> {
  if (serverCount++ === 0) before = openResources();
  return async () => {
    serverCount--;
    const deadline = performance.now() + patienceMs;
    for (let left = leftBehind(); serverCount === 0 && left.length > 0; left = leftBehind()) {
      if (performance.now() > deadline) throw new Error(`servers left behind: ${left.join(", ")}`);
      await delay(10);
    }
  };
}

function leftBehind(): string[] {
  const left = openResources();
  for (const kind of before) {
    const index = left.indexOf(kind);
    if (index !== -1) left.splice(index, 1);
  }
  return left;
}

function openResources(): string[] {
  return process.getActiveResourcesInfo().filter((kind) => kinds.includes(kind));
}
