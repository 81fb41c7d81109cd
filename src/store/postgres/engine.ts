import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { NewPlant, Obstacle } from "../../plant.ts";
import { backoffMs } from "../backoff.ts";
import type { BatchEngine, RowOutcome } from "../engine.ts";
import type { Host } from "./address.ts";
import { remedyFor } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import type { PostgresLimits } from "./limits.ts";
import { NodeWrites, type Room } from "./node-writes.ts";
import { obstacleFrom } from "./obstacle.ts";
import type { Placement } from "./placement.ts";
import { SessionPool } from "./pool.ts";
import type { Session } from "./session.ts";
import { Turns } from "./turns.ts";
import { probeWrite, type Query, tryInsert, writeBatch } from "./writer.ts";

type ConnectTo = (host: Host) => Promise<Session>;

/**
 * Never fails for good, because any problem of a server can be fixed while the store is running.
 */
export class PostgresEngine implements BatchEngine {
  readonly commitsMax: number;
  readonly #pool: SessionPool;
  readonly #inspection: Inspection;
  readonly #limits: PostgresLimits;
  /** A check uses a commit's turn, so that the number of sessions stays within the limit. */
  readonly #turns: Turns;
  /** By node. Empty if the table is not distributed. */
  readonly #nodes = new Map<string, NodeWrites>();
  /** Pools of the nodes that accept statements directly, by node. */
  readonly #poolsOfNodes = new Map<string, SessionPool>();
  readonly #connectTo: ConnectTo;
  readonly #room: Room = { bytes: 0 };

  constructor(
    pool: SessionPool,
    inspection: Inspection,
    {
      connectionsMax,
      connectTo,
      limits,
    }: { connectionsMax: number; connectTo: ConnectTo; limits: PostgresLimits },
  ) {
    this.#pool = pool;
    this.#inspection = inspection;
    this.commitsMax = connectionsMax;
    this.#connectTo = connectTo;
    this.#limits = limits;
    this.#turns = new Turns(connectionsMax);
  }

  async commit(
    batch: readonly NewPlant[],
    abandoned: AbortSignal,
  ): Promise<readonly (RowOutcome | Promise<RowOutcome>)[]> {
    const { placement } = this.#inspection;
    return placement === undefined
      ? await this.#commitWhole(batch, abandoned)
      : await this.#commitByNode(batch, placement);
  }

  async inspect(): Promise<void> {
    await this.#attempt((session) => this.#inspection.runWhole(session));
    await this.openNodes();
  }

  /**
   * Connects to the nodes that accept statements directly: they hold their shards locally and need
   * no second commit phase. Plants of a node that cannot be reached go through the coordinator.
   */
  async openNodes(): Promise<void> {
    const missing = [...(this.#inspection.placement?.nodes ?? [])].filter(
      ([name]) => !this.#poolsOfNodes.has(name),
    );
    await Promise.all(missing.map(([name, host]) => host && this.#openNode(name, host)));
  }

  async probe(): Promise<void> {
    await this.#attempt(async (session) => {
      await this.#inspection.runWhole(session);
      await probeWrite(this.#idForProbe(), this.#queryOn(session), (text) =>
        session.execute(text, this.#limits.statementTimeoutMs),
      );
    });
  }

  obstacle(): Obstacle | undefined {
    return this.#pool.isUp && !this.#isEveryNodeFailing() ? undefined : "unreachable";
  }

  obstacleFrom(error: unknown): Obstacle {
    return obstacleFrom(error);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.drain()));
    const pools = [this.#pool, ...this.#poolsOfNodes.values()];
    await Promise.all(pools.map((pool) => pool.close()));
  }

  /** Retries until it succeeds, a retry cannot help, no caller waits, or the time is up. */
  async #commitWhole(
    batch: readonly NewPlant[],
    abandoned: AbortSignal,
  ): Promise<readonly RowOutcome[]> {
    const begin = this.#pool.downSince ?? performance.now();
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(batch);
      } catch (error) {
        const pauseMs = backoffMs(tries, this.#limits);
        const isLate = performance.now() + pauseMs - begin > this.#limits.retryLimitMs;
        if (remedyFor(error) === "none" || isLate || abandoned.aborted) throw error;
        await delay(pauseMs, undefined, { signal: abandoned }).catch(() => {});
      }
    }
  }

  /**
   * Runs one statement for each node. A commit on a single node needs no second phase, and if a
   * node fails, only its own plants fail.
   */
  async #commitByNode(
    batch: readonly NewPlant[],
    placement: Placement,
  ): Promise<readonly (RowOutcome | Promise<RowOutcome>)[]> {
    const parts = Map.groupBy(batch, ({ id }) => placement.nodeOf(id));
    const outcomes = new Map<NewPlant, RowOutcome | Promise<RowOutcome>>();
    const writes = [...parts].map(async ([name, plants]) => {
      const found = await this.#nodeOf(name).write(plants);
      for (const [index, outcome] of found.entries()) {
        outcomes.set(plants[index] as NewPlant, outcome);
      }
    });
    await Promise.all(writes);
    return batch.map((plant) => outcomes.get(plant) as RowOutcome);
  }

  async #write(plants: readonly NewPlant[], node = ""): Promise<readonly RowOutcome[]> {
    const own = this.#poolsOfNodes.get(node);
    return await this.#attempt(
      async (session) => {
        await this.#inspection.runWhenDue(session);
        return await writeBatch(this.#queryOn(session), plants);
      },
      own?.isUp ? own : this.#pool,
    );
  }

  async #openNode(name: string, host: Host): Promise<void> {
    let session: Session | undefined;
    try {
      session = await this.#connectTo(host);
      await this.#inspection.run(session);
      await tryInsert(this.#queryOn(session));
      const pool = new SessionPool(() => this.#connectTo(host), this.#limits, session);
      this.#poolsOfNodes.set(name, pool);
    } catch {
      session?.destroy();
    }
  }

  #nodeOf(name: string): NodeWrites {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const share = this.commitsMax / (this.#inspection.placement?.nodes.size ?? 1);
    const node = new NodeWrites((plants) => this.#write(plants, name), {
      limits: this.#limits,
      room: this.#room,
      statementsMax: Math.max(1, Math.floor(share)),
    });
    this.#nodes.set(name, node);
    return node;
  }

  #isEveryNodeFailing(): boolean {
    const nodes = [...(this.#inspection.placement?.nodes.keys() ?? [])];
    return nodes.length > 0 && nodes.every((name) => this.#nodes.get(name)?.isFailing);
  }

  /**
   * Random, so that the probes of two servers do not wait for each other. Avoids nodes that are
   * already known to fail.
   */
  #idForProbe(): bigint {
    const { placement } = this.#inspection;
    for (;;) {
      const id = randomBytes(8).readBigInt64BE();
      const name = placement?.nodeOf(id);
      if (name === undefined || this.#isEveryNodeFailing()) return id;
      if (this.#nodes.get(name)?.isFailing !== true) return id;
    }
  }

  #queryOn(session: Session): Query {
    return (text, values) => session.query(text, values, this.#limits.statementTimeoutMs);
  }

  async #attempt<T>(work: (session: Session) => Promise<T>, pool = this.#pool): Promise<T> {
    await this.#turns.take();
    try {
      return await this.#inSession(work, pool);
    } finally {
      this.#turns.giveBack();
    }
  }

  async #inSession<T>(work: (session: Session) => Promise<T>, pool: SessionPool): Promise<T> {
    const session = await pool.acquire();
    try {
      const result = await work(session);
      pool.release(session);
      return result;
    } catch (error) {
      if (remedyFor(error) === "elsewhere") {
        pool.drop(session);
        pool.dropIdle();
      } else {
        pool.release(session);
      }
      throw error;
    }
  }
}
