import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, isIPv6, type Server } from "node:net";

/** Lets a server listen on a free port. Closed at the end of an `await using`. */
export async function listen(server: Server, wanted = 0, host = "127.0.0.1") {
  await once(server.listen(wanted, host), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ port, url: `http://${isIPv6(host) ? `[${host}]` : host}:${port}` },
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * A port for callers that need its number before anything listens. Below those that systems give to
 * outgoing connections (RFC 6335; Linux: from 32768), because one of them would take it first.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    try {
      await using listener = await listen(createServer(), randomInt(10_000, 32_000));
      return listener.port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}
