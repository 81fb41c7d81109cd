import { setTimeout as delay } from "node:timers/promises";
import { describeHost, type Host, type PostgresAddress } from "./address.ts";
import { NoHost } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import { openSession, type Session, type SessionOptions } from "./session.ts";
import { assertServer } from "./settings.ts";

/** Uses the first host that accepts writes. A slow one does not delay the next. @throws {NoHost} */
export async function connectToAny(
  address: PostgresAddress,
  limits: PostgresLimits,
  connectTimeoutMs = limits.connectTimeoutMs,
  hosts = address.hosts,
): Promise<Session> {
  const tries: Promise<Session>[] = [];
  for (const host of hosts) {
    const trying = connectTo(host, { address, limits, connectTimeoutMs });
    tries.push(trying);
    const isLate = delay(limits.nextHostDelayMs, false, { ref: false });
    if (await Promise.race([trying.then(Boolean, () => false), isLate])) break;
  }
  try {
    const found = await Promise.any(tries);
    for (const trying of tries) {
      trying.then((session) => session !== found && session.destroy()).catch(() => {});
    }
    return found;
  } catch (error) {
    // In the order of the tries.
    const { errors } = error as AggregateError;
    const failures = hosts.map((host, i) => [describeHost(host), errors[i]] as const);
    throw new NoHost(new Map(failures));
  }
}

/**
 * Asks all hosts but one in use for their timelines, so that the primary from before a failover is
 * not used. One that is silent delays this by a second at most.
 */
export async function withTimelines(
  address: PostgresAddress,
  limits: PostgresLimits,
  inUse?: Host,
): Promise<PostgresAddress> {
  const { hosts, timelines = new Map<string, string>() } = address;
  if (hosts.length === 1 || timelines.has("unknown")) return address;
  const asked = { ...address, timelines };
  const connectTimeoutMs = limits.aliveIntervalMs;
  const options = { address: asked, limits: { ...limits, connectTimeoutMs }, connectTimeoutMs };
  const others = hosts.filter((host) => host !== inUse);
  const asking = others.map(async (host) => (await connectTo(host, options)).close());
  // A pooler answers for a server that hangs, until a statement.
  const isLate = delay(connectTimeoutMs, undefined, { ref: false });
  await Promise.race([Promise.allSettled(asking), isLate]);
  return asked;
}

async function connectTo(host: Host, options: SessionOptions): Promise<Session> {
  const session = await openSession(host, options);
  try {
    await assertServer(session, options.address);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  }
}
