import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port for callers that need its number before anything listens. Another process may take it
 * first.
 */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
