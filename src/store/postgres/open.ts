import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import type { PlantStore } from "../../plant.ts";
import { createBatchedStore } from "../batched-store.ts";
import { StoreOpenError } from "../open-error.ts";
import type { OnUnreachable, SchemaState, StoreOptions } from "../options.ts";
import type { PlantReader } from "../plant-reader.ts";
import { describeAddress, type Host, type PostgresAddress } from "./address.ts";
import { connectToAny, withTimelines } from "./connect.ts";
import { createPostgresEngine } from "./engine.ts";
import { isPassing, openError } from "./failure.ts";
import { createInspection } from "./inspection.ts";
import { defaultPostgresLimits, type PostgresLimits } from "./limits.ts";
import { createPool } from "./pool.ts";
import { beginReading } from "./reader.ts";
import { assertTable, migrate, migrations, readSchemaVersion } from "./schema.ts";
import type { Session } from "./session.ts";
import { tryInsert } from "./writer.ts";

export { checkPostgres } from "./check.ts";

export async function openPostgres(
  address: PostgresAddress,
  options: StoreOptions,
): Promise<PlantStore> {
  const engine = await openEngine(address, defaultPostgresLimits, options.onUnreachable);
  return createBatchedStore(engine, options);
}

/** Opens the database, and migrates it if necessary. @throws {StoreOpenError} */
export async function openEngine(
  address: PostgresAddress,
  limits: PostgresLimits,
  onUnreachable?: OnUnreachable,
): Promise<ReturnType<typeof createPostgresEngine>> {
  return await connectPatiently(address, limits, async (session) => {
    const version = await readSchemaVersion(session);
    if (version < migrations.length) await migrate(session, limits);
    const found = { ...address, schema: session.schema, timelines: new Map<string, string>() };
    const inspection = createInspection(found, limits);
    await inspection.runWhole(session);
    await tryInsert(session);
    const pool = createPool(() => connectToAny(found, limits), limits, session);
    // Connecting to a node that hangs is given up as soon as a statement would be.
    const nodeTimeoutMs = Math.min(limits.connectTimeoutMs, 2 * limits.aliveIntervalMs);
    const connectTo = (host: Host) => connectToAny(found, limits, nodeTimeoutMs, [host]);
    const engine = createPostgresEngine(pool, inspection, {
      connectionsMax: address.connectionsMax,
      connectTo,
      limits,
      onUnreachable,
    });
    await engine.openNodes();
    return engine;
  });
}

export async function readPostgresSchema(address: PostgresAddress): Promise<SchemaState> {
  const version = await withSession(address, (session) => readSchemaVersion(session));
  return { version, latest: migrations.length };
}

export async function migratePostgres(address: PostgresAddress): Promise<void> {
  await withSession(address, (session) => migrate(session, defaultPostgresLimits));
}

async function withSession<T>(
  address: PostgresAddress,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return await connectPatiently(address, defaultPostgresLimits, async (session) => {
    const result = await work(session);
    await session.close();
    return result;
  });
}

export async function openPostgresReader(address: PostgresAddress): Promise<PlantReader> {
  const limits = defaultPostgresLimits;
  return await connectPatiently(address, limits, async (session) => {
    const version = await readSchemaVersion(session);
    if (version < migrations.length) {
      const problem = `${describeAddress(address)} has schema version ${version}, but version ${migrations.length} is required; check the store URL, or run plant-store migrate up --store URL first`;
      throw new StoreOpenError("unsupported", problem);
    }
    await assertTable(session);
    return await beginReading(session, limits);
  });
}

/**
 * Works in a new session, which is destroyed if that fails. Retries while the server is up but
 * reports that it is not ready yet.
 */
async function connectPatiently<T>(
  address: PostgresAddress,
  limits: PostgresLimits,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const begin = performance.now();
  for (let tries = 1; ; tries++) {
    let session: Session | undefined;
    try {
      session = await connectToAny(await withTimelines(address, limits), limits);
      return await work(session);
    } catch (error) {
      session?.destroy();
      const pauseMs = backoffMs(tries, limits);
      const isLate = performance.now() + pauseMs - begin > limits.retryLimitMs;
      if (isLate || !isPassing(error)) throw openError(error);
      await delay(pauseMs);
    }
  }
}
