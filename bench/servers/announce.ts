import type { AddressInfo, Server } from "node:net";

/** Listens on a free port and says so, as every server here does. */
export function announce(server: Server): void {
  server.listen(0, "127.0.0.1", () =>
    announceUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  );
}

export function announceUrl(url: string): void {
  process.stdout.write(`listens on ${url}\n`);
}
