import type { NewPlant } from "../../plant.ts";
import type { OnUnreachable } from "../options.ts";
import { describeHost, type Host } from "./address.ts";
import { assertCoordinator, createCoordinator, isUntouched } from "./coordinator.ts";
import { ConnectionLost, isOfRow, remedyFor, sqlState, Unconfirmed } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import type { PostgresLimits } from "./limits.ts";
import { coordinator, type Placement } from "./placement.ts";
import { createPool, type SessionPool } from "./pool.ts";
import type { Session } from "./session.ts";
import { type Outcomes, type Query, tryInsert, writeBatch } from "./writer.ts";

/** Works in a session of a pool, when it is the turn of this work among that for the same node. */
export type Attempt = <T>(
  work: (session: Session) => Promise<T>,
  pool: SessionPool,
  node?: string,
) => Promise<T>;

export interface ClusterOptions {
  readonly connectTo: (host: Host) => Promise<Session>;
  readonly limits: PostgresLimits;
  readonly attempt: Attempt;
  readonly onUnreachable?: OnUnreachable | undefined;
}

const queryCanceled = "57014";

/**
 * The sessions of a store: on the host of its URL and, with Citus, on the coordinator and on
 * workers that accept statements directly, which hold their shards and need no second commit phase.
 * Plants of a worker that cannot be reached go through the coordinator.
 * @param first On a host of the store's URL.
 */
export function createCluster(
  first: SessionPool,
  inspection: Inspection,
  { connectTo, limits, attempt, onUnreachable }: ClusterOptions,
) {
  const { statementTimeoutMs, aliveIntervalMs } = limits;
  const open = new Map<string, { readonly host: Host; readonly pool: SessionPool }>();
  const askCoordinator = createCoordinator(queryCoordinator);
  let unreachable = "";
  let locating: Promise<void> | undefined;
  let isClosed = false;
  return { main, worker, write, inspect, openNodes, close };

  /** The coordinator if there is one. */
  function main(): SessionPool {
    const own = open.get(coordinator)?.pool;
    return own?.isUp ? own : first;
  }

  /** The sessions of a worker that accepts statements directly at the moment. */
  function worker(name: string) {
    const node = open.get(name);
    return name !== coordinator && node?.pool.isUp ? node : undefined;
  }

  /** Stores the plants of a node. They are confirmed only if they are in the cluster's table. */
  async function write(plants: readonly NewPlant[], name: string): Promise<Outcomes> {
    const { placement } = inspection;
    const node = worker(name);
    const isDirect = placement !== undefined && node !== undefined;
    if (isDirect) {
      const outcomes = await writeDirectly(plants, placement, name, node);
      if (outcomes !== undefined) return outcomes;
      await locate();
    }
    // A worker that was lost may not answer the coordinator either.
    const isDoubtful = name !== coordinator && open.has(name) && !isDirect;
    const timeoutMs = isDoubtful ? aliveIntervalMs : statementTimeoutMs;
    const insertHere = async (session: Session) => {
      if (placement !== undefined) await assertCoordinator(session);
      return await insert(session, plants, timeoutMs);
    };
    try {
      return await attempt(insertHere, main(), name);
    } catch (cause) {
      if (!isDoubtful || sqlState(cause) !== queryCanceled) throw cause;
      throw new ConnectionLost("a node does not answer", { cause, isSilent: true });
    }
  }

  /** Inspects all hosts, and finds out which there are. */
  async function inspect(): Promise<void> {
    const workers = [...open.keys()].map(worker).filter((node) => node !== undefined);
    // Workers can store plants without the coordinator.
    if (main().isUp || workers.length === 0) await locate();
    else reportUnreachable();
    const inspections = workers.map(async ({ pool }) => {
      try {
        await attempt(inspection.runOnNode, pool);
      } catch (error) {
        if (remedyFor(error) === "none") throw error;
      }
    });
    await Promise.all(inspections);
  }

  /** Connects to the hosts that the cluster names now, and leaves those that it has replaced. */
  async function openNodes(): Promise<void> {
    if (isClosed) return;
    const hosts = inspection.placement?.hosts ?? new Map<string, Host | undefined>();
    for (const [name, { host, pool }] of open) {
      const now = hosts.get(name);
      if (now !== undefined && describeHost(now) === describeHost(host)) continue;
      open.delete(name);
      void pool.close();
    }
    const missing = [...hosts].filter(([name]) => !open.has(name));
    await Promise.all(missing.map(([name, host]) => host && openNode(name, host)));
    reportUnreachable();
  }

  async function close(): Promise<void> {
    isClosed = true;
    const pools = [first, ...[...open.values()].map(({ pool }) => pool)];
    await Promise.all(pools.map((pool) => pool.close()));
  }

  /** @returns undefined if the plants must be written again, through the coordinator. */
  async function writeDirectly(
    plants: readonly NewPlant[],
    placement: Placement,
    name: string,
    { pool, host }: NonNullable<ReturnType<typeof worker>>,
  ): Promise<Outcomes | undefined> {
    try {
      const insertHere = (session: Session) => insert(session, plants, statementTimeoutMs);
      const outcomes = await attempt(insertHere, pool, name);
      const answer = await askCoordinator(placement, name, host);
      if (answer !== "unknown") return answer === "current" ? outcomes : undefined;
      const shards = placement.shardsOf(name);
      if (await pool.use((session) => isUntouched(session, shards))) return outcomes;
      throw new Unconfirmed("the table may be about to be replaced");
    } catch (error) {
      // The worker may have lost the table, or not have it yet.
      if (remedyFor(error) === "none" && !isOfRow(error)) return undefined;
      throw error;
    }
  }

  async function insert(
    session: Session,
    plants: readonly NewPlant[],
    timeoutMs: number,
  ): Promise<Outcomes> {
    await inspection.runWhenDue(session);
    const query: Query = (text, values) => session.query(text, values, timeoutMs);
    return await writeBatch(query, plants, session.hasTriggers);
  }

  /** Reads where the plants are now. Calls at the same time share it. */
  function locate(): Promise<void> {
    const isOpen = (name: string) => worker(name) !== undefined;
    locating ??= attempt((session) => inspection.runWhole(session, isOpen), main())
      .then(openNodes)
      .finally(() => {
        locating = undefined;
      });
    return locating;
  }

  /** Takes no turn: questions are short, and one at a time. */
  async function queryCoordinator(text: string) {
    const pool = main();
    if (!pool.isUp) throw new ConnectionLost("the coordinator cannot be reached");
    try {
      return await pool.use((session) => session.query(text, [], statementTimeoutMs));
    } catch (error) {
      // They may be on the same host.
      if (error instanceof ConnectionLost) for (const one of [pool, first]) one.dropAll();
      throw error;
    }
  }

  async function openNode(name: string, host: Host): Promise<void> {
    const session = await connectTo(host).catch(() => undefined);
    if (session === undefined) return;
    try {
      await inspection.run(session);
      await tryInsert(session);
      if (isClosed) throw new ConnectionLost("the store is closed");
      open.set(name, { host, pool: createPool(() => connectTo(host), limits, session) });
    } catch {
      session.destroy();
    }
  }

  function reportUnreachable(): void {
    if (isClosed) return;
    const hosts = [...(inspection.placement?.hosts ?? [])];
    const nodes = hosts.flatMap(([name, host]) =>
      host === undefined || open.get(name)?.pool.isUp ? [] : [describeHost(host)],
    );
    const before = unreachable;
    unreachable = nodes.join(", ");
    if (unreachable !== before) onUnreachable?.(nodes);
  }
}
