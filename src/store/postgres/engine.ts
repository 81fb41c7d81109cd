import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { NewPlant, Obstacle } from "../../plant.ts";
import { backoffMs } from "../backoff.ts";
import type { BatchEngine, RowOutcome } from "../engine.ts";
import { type Attempt, Cluster, type ClusterOptions } from "./cluster.ts";
import { remedyFor } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import type { PostgresLimits } from "./limits.ts";
import { NodeWrites, type Room } from "./node-writes.ts";
import { obstacleFrom } from "./obstacle.ts";
import type { Placement } from "./placement.ts";
import type { SessionPool } from "./pool.ts";
import type { Session } from "./session.ts";
import { Turns } from "./turns.ts";
import { probeWrite } from "./writer.ts";

/**
 * Never fails for good, because any problem of a server can be fixed while the store is running.
 */
export class PostgresEngine implements BatchEngine {
  readonly commitsMax: number;
  readonly #inspection: Inspection;
  readonly #limits: PostgresLimits;
  /** A check uses a commit's turn, so that the number of sessions stays within the limit. */
  readonly #turns: Turns;
  /** By node. Empty if the table is not distributed. */
  readonly #nodes = new Map<string, NodeWrites>();
  readonly #cluster: Cluster;
  readonly #room: Room = { bytes: 0 };

  constructor(
    pool: SessionPool,
    inspection: Inspection,
    options: { connectionsMax: number } & Omit<ClusterOptions, "attempt">,
  ) {
    const { connectionsMax, limits } = options;
    this.#inspection = inspection;
    this.commitsMax = connectionsMax;
    this.#limits = limits;
    this.#turns = new Turns(connectionsMax);
    const attempt: Attempt = (work, pool) => this.#attempt(work, pool);
    this.#cluster = new Cluster(pool, inspection, { ...options, attempt });
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
    await this.#cluster.inspect();
  }

  async openNodes(): Promise<void> {
    await this.#cluster.openNodes();
  }

  async probe(): Promise<void> {
    await this.#cluster.inspect();
    const worker = this.#cluster.main.isUp ? undefined : this.#workerThatStores();
    const timeoutMs = this.#limits.statementTimeoutMs;
    await this.#attempt(
      (session) =>
        probeWrite(
          this.#idForProbe(worker),
          (text, values) => session.query(text, values, timeoutMs),
          (text) => session.execute(text, timeoutMs),
        ),
      this.#cluster.worker(worker ?? "")?.pool ?? this.#cluster.main,
    );
  }

  obstacle(): Obstacle | undefined {
    const isUp = this.#cluster.main.isUp || this.#workerThatStores() !== undefined;
    return isUp && !this.#isEveryNodeFailing() ? undefined : "unreachable";
  }

  obstacleFrom(error: unknown): Obstacle {
    return obstacleFrom(error);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.drain()));
    await this.#cluster.close();
  }

  /** Retries until it succeeds, a retry cannot help, no caller waits, or the time is up. */
  async #commitWhole(
    batch: readonly NewPlant[],
    abandoned: AbortSignal,
  ): Promise<readonly RowOutcome[]> {
    const begin = this.#cluster.main.downSince ?? performance.now();
    for (let tries = 1; ; tries++) {
      try {
        return await this.#cluster.write(batch, "");
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

  #nodeOf(name: string): NodeWrites {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const share = this.commitsMax / (this.#inspection.placement?.nodes.size ?? 1);
    const node = new NodeWrites((plants) => this.#cluster.write(plants, name), {
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
  #idForProbe(wanted: string | undefined): bigint {
    const { placement } = this.#inspection;
    for (;;) {
      const id = randomBytes(8).readBigInt64BE();
      const name = placement?.nodeOf(id);
      if (wanted !== undefined && name !== wanted) continue;
      if (name === undefined || this.#isEveryNodeFailing()) return id;
      if (this.#nodes.get(name)?.isFailing !== true) return id;
    }
  }

  #workerThatStores(): string | undefined {
    const names = [...(this.#inspection.placement?.nodes.keys() ?? [])];
    return names.find(
      (name) => this.#cluster.worker(name) !== undefined && !this.#nodes.get(name)?.isFailing,
    );
  }

  async #attempt<T>(work: (session: Session) => Promise<T>, pool: SessionPool): Promise<T> {
    await this.#turns.take();
    try {
      return await pool.use(work);
    } finally {
      this.#turns.giveBack();
    }
  }
}
