/** Empty PostgreSQL servers with Citus, each with an address of its own on this machine. */
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { findCitus } from "../faults/citus/cluster.ts";
import { password } from "../support/postgres-databases.ts";
import { startPostgres } from "../support/postgres-server.ts";

/** The reason in the page. */
export const needsCitus = "it needs Citus";

/** By the names in the page. */
const addresses = { coordinator: "127.0.0.2", worker1: "127.0.0.3", worker2: "127.0.0.4" } as const;

/** @returns undefined if Citus is not installed. */
export async function startCitusNodes(page: string) {
  const installation = findCitus();
  // Only Linux has all of 127.0.0.0/8.
  if (installation === undefined || process.platform !== "linux") return undefined;
  await using stack = new AsyncDisposableStack();
  const files = { "pg_hba.conf": "host all all 127.0.0.0/8 scram-sha-256\n" };
  const port = String(await findFreePort());
  for (const listen_addresses of Object.values(addresses)) {
    const settings = { ...settingsIn(page), listen_addresses, port };
    stack.use(await startPostgres({ installation, settings, files }));
  }
  const owned = stack.move();
  return {
    env: { PGPASSWORD: password },
    /** Replaces the hosts and the port. */
    localize: (commands: string) =>
      Object.entries(addresses)
        .reduce(
          (text, [name, address]) => text.replaceAll(new RegExp(`\\b${name}\\b`, "g"), address),
          commands,
        )
        .replaceAll("5432", port),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Those that the page adds to postgresql.conf. */
function settingsIn(page: string): Record<string, string> {
  const [, block = ""] = /^```ini\n([\s\S]*?)^```$/m.exec(page) ?? [];
  return Object.fromEntries(
    [...block.matchAll(/^(\w+) = '(.*)'$/gm)].map(([, name, value]) => [name, value]),
  );
}
