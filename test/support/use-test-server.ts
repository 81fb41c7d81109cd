import { useOpened } from "../../packages/gateway/test/support/use-opened.ts";
import { openTestServer, type TestServer, type TestServerOptions } from "./test-server.ts";

/** A server for all tests of a file or of a `describe`, from before the first of them. */
export function useTestServer(options?: TestServerOptions): TestServer {
  return useOpened(() => openTestServer(options));
}

export { useOpened };
