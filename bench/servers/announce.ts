import type { AddressInfo, Server } from "node:net";

/**
 * Listens on a free port and prints it, like every server here. Connections may be idle: a paced
 * load has more of them than it needs, and Node closes idle ones after 5 s.
 */
export function announce(server: Server): void {
  if ("keepAliveTimeout" in server) server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () =>
    announceUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  );
}

export function announceUrl(url: string): void {
  process.stdout.write(`listens on ${url}\n`);
}
