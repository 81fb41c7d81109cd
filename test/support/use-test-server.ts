import { beforeAll } from "vitest";
import { openTestServer, type TestServer, type TestServerOptions } from "./test-server.ts";

/** A server for all tests of a file or of a `describe`, from before the first of them. */
export function useTestServer(options?: TestServerOptions): TestServer {
  return useOpened(() => openTestServer(options));
}

/** What `open` opens, for all tests of a file or of a `describe`. Closed after the last of them. */
export function useOpened<T extends AsyncDisposable>(open: () => Promise<T>): T {
  const used = {} as T;
  beforeAll(async () => {
    const opened = await open();
    Object.assign(used, opened);
    return () => opened[Symbol.asyncDispose]();
  });
  return used;
}
