import { describeHost, type PostgresAddress } from "./address.ts";
import { NoHost } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import { Session } from "./session.ts";
import { assertServer } from "./settings.ts";

/** Opens a session on one of an address's hosts. */
export type Connect = () => Promise<Session>;

/**
 * Tries the hosts in order and uses the first that accepts writes.
 *
 * @throws {NoHost}
 */
export async function connectToAny(
  address: PostgresAddress,
  limits: PostgresLimits,
): Promise<Session> {
  const failures = new Map<string, unknown>();
  for (const host of address.hosts) {
    let session: Session | undefined;
    try {
      session = await Session.open(address, host, limits);
      await assertServer(session, address, limits.connectTimeoutMs);
      return session;
    } catch (error) {
      session?.destroy();
      failures.set(describeHost(host), error);
    }
  }
  throw new NoHost(failures);
}
