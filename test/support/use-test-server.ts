import { beforeAll } from "vitest";
import { openTestServer, type TestServer, type TestServerOptions } from "./test-server.ts";

/** A server for all tests of a file or of a `describe`, from before the first of them. */
export function useTestServer(options?: TestServerOptions): TestServer {
  const server = {} as TestServer;
  beforeAll(async () => {
    Object.assign(server, await openTestServer(options));
    return () => server.close();
  });
  return server;
}
