import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { NewPlant, Obstacle } from "../../plant.ts";
import type { Engine, RowOutcome } from "../engine.ts";
import { backoffMs } from "./backoff.ts";
import { remedyFor } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import type { PostgresLimits } from "./limits.ts";
import { NodeWrites, type Room } from "./node-writes.ts";
import { obstacleFrom } from "./obstacle.ts";
import type { Placement } from "./placement.ts";
import type { SessionPool } from "./pool.ts";
import type { Session } from "./session.ts";
import { Turns } from "./turns.ts";
import { probeWrite, type Query, writeBatch } from "./writer.ts";

/**
 * Never fails for good: whatever is wrong with a server can be mended while
 * this runs.
 */
export class PostgresEngine implements Engine {
  readonly commitsMax: number;
  readonly commitsAhead = 0;
  readonly #pool: SessionPool;
  readonly #inspection: Inspection;
  readonly #limits: PostgresLimits;
  /** A check takes the place of a commit, so that there are never more sessions than that. */
  readonly #turns: Turns;
  /** By the node; none, where the table is not distributed. */
  readonly #nodes = new Map<string, NodeWrites>();
  readonly #room: Room = { bytes: 0 };

  constructor(
    pool: SessionPool,
    inspection: Inspection,
    commitsMax: number,
    limits: PostgresLimits,
  ) {
    this.#pool = pool;
    this.#inspection = inspection;
    this.commitsMax = commitsMax;
    this.#limits = limits;
    this.#turns = new Turns(commitsMax);
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
    await this.#pool.close();
  }

  /** Tries until it succeeds, nothing helps, nobody waits, or the time is up. */
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
   * A statement for each node: one that a single node can commit takes no second
   * phase, and only the plants of a node that fails fail with it.
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

  async #write(plants: readonly NewPlant[]): Promise<readonly RowOutcome[]> {
    return await this.#attempt(async (session) => {
      await this.#inspection.runWhenDue(session);
      return await writeBatch(this.#queryOn(session), plants);
    });
  }

  #nodeOf(name: string): NodeWrites {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const node = new NodeWrites((plants) => this.#write(plants), this.#limits, this.#room);
    this.#nodes.set(name, node);
    return node;
  }

  #isEveryNodeFailing(): boolean {
    const nodes = [...(this.#inspection.placement?.nodes ?? [])];
    return nodes.length > 0 && nodes.every((name) => this.#nodes.get(name)?.isFailing);
  }

  /** One server's probe does not wait for another's, and a node that fails is no news. */
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

  async #attempt<T>(work: (session: Session) => Promise<T>): Promise<T> {
    await this.#turns.take();
    try {
      return await this.#inSession(work);
    } finally {
      this.#turns.giveBack();
    }
  }

  async #inSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#pool.acquire();
    try {
      const result = await work(session);
      this.#pool.release(session);
      return result;
    } catch (error) {
      if (remedyFor(error) === "elsewhere") {
        this.#pool.drop(session);
        this.#pool.dropIdle();
      } else {
        this.#pool.release(session);
      }
      throw error;
    }
  }
}
