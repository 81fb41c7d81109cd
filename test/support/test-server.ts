import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import {
  createRecordedLog,
  type RecordedLog,
} from "../../packages/proxy/test/support/recorded-log.ts";
import { knownToken } from "../../packages/proxy/test/support/token-leaks.ts";
import type { ServerOptions } from "../../src/server/settings.ts";
import { type RunningServer, startServer } from "../../src/server/start.ts";
import { beginLeakCheck } from "./leak-check.ts";

export { knownToken };

export interface TestServer extends AsyncDisposable {
  /** The URL for clients, including the base path. */
  readonly url: string;
  readonly port: number;
  /** The SQLite file. */
  readonly database: string;
  readonly log: RecordedLog;
  readonly running: RunningServer;
  /** Closes the server. Fails if anything of it is left, or if it had an internal error. */
  close(): Promise<void>;
}

export interface TestServerOptions extends Omit<ServerOptions, "store" | "log"> {
  /** The SQLite file. Default: one in its own directory. */
  readonly database?: string;
  /** The store URL, instead of a file. */
  readonly store?: string;
}

/** A complete server in this process, on a free port. */
export async function openTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { database: given, ...rest } = options;
  const folder = given === undefined ? await createTemporaryFolder() : undefined;
  const database = given ?? join(folder?.path ?? "", "plants.db");
  const log = createRecordedLog();
  const endLeakCheck = beginLeakCheck();
  const settings: ServerOptions = {
    port: 0,
    auth: { tokenFile: undefined, tokens: [knownToken] },
    drainTimeoutMs: 2000,
    ...rest,
    store: options.store ?? `sqlite:${database}`,
    log,
  };
  const running = await startServer(settings).catch(async (error: unknown) => {
    await folder?.[Symbol.asyncDispose]();
    await endLeakCheck();
    throw error;
  });
  const port = Number(new URL(running.url).port);

  async function close(): Promise<void> {
    try {
      await within("the end of the server", running.close());
    } finally {
      await folder?.[Symbol.asyncDispose]();
      await endLeakCheck();
    }
    await assertRefused(port);
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
    url: running.url,
    port,
    database,
    log,
    running,
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

async function assertRefused(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
  } catch {
    return;
  } finally {
    socket.destroy();
  }
  throw new Error(`port ${port} still takes connections`);
}
