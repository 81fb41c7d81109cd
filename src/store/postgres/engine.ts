import { randomBytes } from "node:crypto";
import type { NewPlant, Obstacle } from "../../plant.ts";
import type { Engine, Retries } from "../engine.ts";
import { type Attempt, Cluster, type ClusterOptions } from "./cluster.ts";
import { isOfRow, isSilent, mayPass, NoHost, obstacleFrom, remedyFor } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import { connectionsCeiling, type PostgresLimits } from "./limits.ts";
import type { SessionPool } from "./pool.ts";
import { type Outcomes, probeWrite } from "./writer.ts";

/** The part of a database that is not distributed. */
const whole = "";

/** Never fails for good: any problem of a server can be fixed while the store runs. */
export class PostgresEngine implements Engine {
  readonly commitsAhead = 0;
  readonly isOfRow = isOfRow;
  readonly retries: Retries;
  readonly #inspection: Inspection;
  readonly #limits: PostgresLimits;
  readonly #connectionsMax: number;
  /** By node, so that none waits for another. */
  readonly #turns = new Map<string, Turns>();
  /** Nodes whose last statement failed, but may succeed later. */
  readonly #failing = new Set<string>();
  readonly #cluster: Cluster;

  constructor(
    pool: SessionPool,
    inspection: Inspection,
    options: { connectionsMax: number } & Omit<ClusterOptions, "attempt">,
  ) {
    const { connectionsMax, limits } = options;
    this.#inspection = inspection;
    this.#connectionsMax = connectionsMax;
    this.#limits = limits;
    this.#cluster = new Cluster(pool, inspection, { ...options, attempt: this.#attempt });
    this.retries = {
      ...limits,
      mayHelp: (error) =>
        inspection.placement === undefined
          ? remedyFor(error) !== "none"
          : mayPass(error) && !isSilent(error),
      // If only a further session cannot be opened, the others still work.
      isSilent: (error, node) =>
        inspection.placement !== undefined &&
        isSilent(error) &&
        !(error instanceof NoHost && this.#cluster.worker(node) !== undefined),
    };
  }

  /** For each node of a cluster, as far as the total allows. */
  get commitsMax(): number {
    const nodes = this.#inspection.placement?.nodes.size ?? 1;
    return Math.max(1, Math.min(this.#connectionsMax, Math.floor(connectionsCeiling / nodes)));
  }

  /** With Citus, a statement costs more than its rows, and nodes work in parallel anyway. */
  get mergesCommits(): boolean {
    return this.#inspection.placement !== undefined;
  }

  /** A commit on one node needs no second phase. If a node hangs, only its own plants wait. */
  partOf(id: bigint): string {
    return this.#inspection.placement?.nodeOf(id) ?? whole;
  }

  async commit(batch: readonly NewPlant[], node: string): Promise<Outcomes> {
    try {
      const outcomes = await this.#cluster.write(batch, node);
      this.#failing.delete(node);
      return outcomes;
    } catch (error) {
      if (mayPass(error)) this.#failing.add(node);
      throw error;
    }
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
    const id = this.#idForProbe(worker);
    const timeoutMs = this.#limits.statementTimeoutMs;
    await this.#attempt(
      (session) =>
        probeWrite(
          id,
          (text, values) => session.query(text, values, timeoutMs),
          (text) => session.execute(text, timeoutMs),
        ),
      this.#cluster.worker(worker ?? "")?.pool ?? this.#cluster.main,
    );
    this.#failing.delete(this.partOf(id));
  }

  obstacle(): Obstacle | undefined {
    const isUp = this.#cluster.main.isUp || this.#workerThatStores() !== undefined;
    return isUp && !this.#isEveryNodeFailing() ? undefined : "unreachable";
  }

  obstacleFrom(error: unknown): Obstacle {
    return obstacleFrom(error);
  }

  async close(): Promise<void> {
    await this.#cluster.close();
  }

  #isEveryNodeFailing(): boolean {
    const nodes = [...(this.#inspection.placement?.nodes.keys() ?? [])];
    return nodes.length > 0 && nodes.every((name) => this.#failing.has(name));
  }

  /** Random, so that probes of two servers do not wait for each other. Avoids failing nodes. */
  #idForProbe(wanted: string | undefined): bigint {
    const { placement } = this.#inspection;
    for (;;) {
      const id = randomBytes(8).readBigInt64BE();
      const name = placement?.nodeOf(id);
      if (wanted !== undefined && name !== wanted) continue;
      if (name === undefined || this.#isEveryNodeFailing()) return id;
      if (!this.#failing.has(name)) return id;
    }
  }

  #workerThatStores(): string | undefined {
    const names = [...(this.#inspection.placement?.nodes.keys() ?? [])];
    return names.find(
      (name) => this.#cluster.worker(name) !== undefined && !this.#failing.has(name),
    );
  }

  /** Checks and retries use a commit's turn, too, so that sessions stay within the limit. */
  readonly #attempt: Attempt = async (work, pool, node = whole) => {
    let turns = this.#turns.get(node);
    if (turns === undefined) {
      turns = new Turns(this.commitsMax);
      this.#turns.set(node, turns);
    }
    await turns.take();
    try {
      return await pool.use(work);
    } finally {
      turns.giveBack();
    }
  };
}

/** Admits a limited number at a time, in order of arrival. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a turn, which must be given back. */
  async take(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
