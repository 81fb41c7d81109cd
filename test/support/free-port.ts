import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";

/** Lets a server listen on a free port. Closed at the end of an `await using`. */
export async function listen(server: Server) {
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ port, url: `http://127.0.0.1:${port}` },
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * A port for callers that need its number before anything listens. Another process may take it
 * first.
 */
export async function findFreePort(): Promise<number> {
  await using listener = await listen(createServer());
  return listener.port;
}
