import type { NewPlant } from "../../plant.ts";
import type { OnUnreachable } from "../options.ts";
import { describeHost, type Host } from "./address.ts";
import { assertCoordinator, Coordinator, isUntouched } from "./coordinator.ts";
import { ConnectionLost, isOfRow, remedyFor, sqlState, Unconfirmed } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import type { PostgresLimits } from "./limits.ts";
import { coordinator, type Placement } from "./placement.ts";
import { SessionPool } from "./pool.ts";
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

/** The SQLSTATE of a statement that took too long. */
const queryCanceled = "57014";

/** The sessions on one host of a cluster. */
interface OpenNode {
  readonly host: Host;
  readonly pool: SessionPool;
}

/**
 * The sessions of a store: on the host of its URL and, with Citus, on the coordinator and on
 * workers that accept statements directly, which hold their shards and need no second commit phase.
 * Plants of a worker that cannot be reached go through the coordinator.
 */
export class Cluster {
  readonly #first: SessionPool;
  readonly #inspection: Inspection;
  readonly #options: ClusterOptions;
  readonly #coordinator = new Coordinator((text) => this.#askCoordinator(text));
  readonly #open = new Map<string, OpenNode>();
  #unreachable = "";
  #locating: Promise<void> | undefined;
  #isClosed = false;

  /** @param first On a host of the store's URL. */
  constructor(first: SessionPool, inspection: Inspection, options: ClusterOptions) {
    this.#first = first;
    this.#inspection = inspection;
    this.#options = options;
  }

  /** The coordinator if there is one. */
  get main(): SessionPool {
    const own = this.#open.get(coordinator)?.pool;
    return own?.isUp ? own : this.#first;
  }

  /** The sessions of a worker that accepts statements directly at the moment. */
  worker(name: string): OpenNode | undefined {
    const node = this.#open.get(name);
    return name !== coordinator && node?.pool.isUp ? node : undefined;
  }

  /** Stores the plants of a node. They are confirmed only if they are in the cluster's table. */
  async write(plants: readonly NewPlant[], name: string): Promise<Outcomes> {
    const { placement } = this.#inspection;
    const node = this.worker(name);
    if (placement !== undefined && node !== undefined) {
      const outcomes = await this.#writeDirectly(plants, { placement, name, node });
      if (outcomes !== undefined) return outcomes;
      await this.#locate();
    }
    const { statementTimeoutMs, aliveIntervalMs } = this.#options.limits;
    // A worker that was lost may not answer the coordinator either.
    const isDoubtful = name !== coordinator && this.#open.has(name) && node === undefined;
    const timeoutMs = isDoubtful ? aliveIntervalMs : statementTimeoutMs;
    try {
      return await this.#options.attempt(
        async (session) => {
          if (placement !== undefined) await assertCoordinator(session);
          return await this.#insert(session, plants, timeoutMs);
        },
        this.main,
        name,
      );
    } catch (cause) {
      if (!isDoubtful || sqlState(cause) !== queryCanceled) throw cause;
      throw new ConnectionLost("a node does not answer", { cause, isSilent: true });
    }
  }

  /** Inspects all hosts, and finds out which there are. */
  async inspect(): Promise<void> {
    const names = [...this.#open.keys()];
    const workers = names.map((name) => this.worker(name)).filter((node) => node !== undefined);
    // Workers can store plants without the coordinator.
    if (this.main.isUp || workers.length === 0) await this.#locate();
    else this.#reportUnreachable();
    const inspections = workers.map(async ({ pool }) => {
      try {
        await this.#options.attempt((session) => this.#inspection.runOnNode(session), pool);
      } catch (error) {
        if (remedyFor(error) === "none") throw error;
      }
    });
    await Promise.all(inspections);
  }

  /** Connects to the hosts that the cluster names now, and leaves those that it has replaced. */
  async openNodes(): Promise<void> {
    if (this.#isClosed) return;
    const hosts = this.#inspection.placement?.hosts ?? new Map<string, Host | undefined>();
    for (const [name, { host, pool }] of this.#open) {
      const now = hosts.get(name);
      if (now !== undefined && describeHost(now) === describeHost(host)) continue;
      this.#open.delete(name);
      void pool.close();
    }
    const missing = [...hosts].filter(([name]) => !this.#open.has(name));
    await Promise.all(missing.map(([name, host]) => host && this.#openNode(name, host)));
    this.#reportUnreachable();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const pools = [this.#first, ...[...this.#open.values()].map(({ pool }) => pool)];
    await Promise.all(pools.map((pool) => pool.close()));
  }

  /** @returns undefined if the plants must be written again, through the coordinator. */
  async #writeDirectly(
    plants: readonly NewPlant[],
    { placement, name, node }: { placement: Placement; name: string; node: OpenNode },
  ): Promise<Outcomes | undefined> {
    try {
      const outcomes = await this.#options.attempt(
        (session) => this.#insert(session, plants, this.#options.limits.statementTimeoutMs),
        node.pool,
        name,
      );
      const answer = await this.#coordinator.ask(placement, name, node.host);
      if (answer !== "unknown") return answer === "current" ? outcomes : undefined;
      const shards = placement.shardsOf(name);
      const isSafe = await node.pool.use((session) => isUntouched(session, shards));
      if (isSafe) return outcomes;
      throw new Unconfirmed("the table may be about to be replaced");
    } catch (error) {
      // The worker may have lost the table, or not have it yet.
      if (remedyFor(error) === "none" && !isOfRow(error)) return undefined;
      throw error;
    }
  }

  async #insert(
    session: Session,
    plants: readonly NewPlant[],
    timeoutMs: number,
  ): Promise<Outcomes> {
    await this.#inspection.runWhenDue(session);
    const query: Query = (text, values) => session.query(text, values, timeoutMs);
    return await writeBatch(query, plants, session.hasTriggers);
  }

  /** Reads where the plants are now. Calls at the same time share it. */
  #locate(): Promise<void> {
    const isOpen = (name: string) => this.worker(name) !== undefined;
    this.#locating ??= this.#options
      .attempt((session) => this.#inspection.runWhole(session, isOpen), this.main)
      .then(() => this.openNodes())
      .finally(() => {
        this.#locating = undefined;
      });
    return this.#locating;
  }

  /** Takes no turn: questions are short, and one at a time. */
  async #askCoordinator(text: string) {
    if (!this.main.isUp) throw new ConnectionLost("the coordinator cannot be reached");
    const { main } = this;
    try {
      return await main.use((session) => this.#queryOn(session)(text, []));
    } catch (error) {
      // They may be on the same host.
      if (error instanceof ConnectionLost) for (const pool of [main, this.#first]) pool.dropAll();
      throw error;
    }
  }

  async #openNode(name: string, host: Host): Promise<void> {
    const session = await this.#options.connectTo(host).catch(() => undefined);
    if (session === undefined) return;
    try {
      await this.#inspection.run(session);
      await tryInsert(session);
      if (this.#isClosed) throw new ConnectionLost("the store is closed");
      const pool = new SessionPool(
        () => this.#options.connectTo(host),
        this.#options.limits,
        session,
      );
      this.#open.set(name, { host, pool });
    } catch {
      session.destroy();
    }
  }

  #reportUnreachable(): void {
    if (this.#isClosed) return;
    const hosts = [...(this.#inspection.placement?.hosts ?? [])];
    const nodes = hosts.flatMap(([name, host]) =>
      host === undefined || this.#open.get(name)?.pool.isUp ? [] : [describeHost(host)],
    );
    const before = this.#unreachable;
    this.#unreachable = nodes.join(", ");
    if (this.#unreachable !== before) this.#options.onUnreachable?.(nodes);
  }

  #queryOn(session: Session): Query {
    return (text, values) => session.query(text, values, this.#options.limits.statementTimeoutMs);
  }
}
