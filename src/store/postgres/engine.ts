import { setTimeout as delay } from "node:timers/promises";
import type { NewPlant, Obstacle } from "../../plant.ts";
import type { Engine, RowOutcome } from "../engine.ts";
import { backoffMs } from "./backoff.ts";
import { remedyFor } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import type { PostgresLimits } from "./limits.ts";
import { obstacleFrom } from "./obstacle.ts";
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

  /** Tries until it succeeds, nothing helps, nobody waits, or the time is up. */
  async commit(batch: readonly NewPlant[], abandoned: AbortSignal): Promise<readonly RowOutcome[]> {
    const begin = this.#pool.downSince ?? performance.now();
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt(async (session) => {
          await this.#inspection.runWhenDue(session);
          return await writeBatch(this.#queryOn(session), batch);
        });
      } catch (error) {
        const pauseMs = backoffMs(tries, this.#limits);
        const isLate = performance.now() + pauseMs - begin > this.#limits.retryLimitMs;
        if (remedyFor(error) === "none" || isLate || abandoned.aborted) throw error;
        await delay(pauseMs, undefined, { signal: abandoned }).catch(() => {});
      }
    }
  }

  async inspect(): Promise<void> {
    await this.#attempt((session) => this.#inspection.run(session));
  }

  async probe(): Promise<void> {
    await this.#attempt(async (session) => {
      await this.#inspection.run(session);
      await probeWrite(this.#queryOn(session), (text) =>
        session.execute(text, this.#limits.statementTimeoutMs),
      );
    });
  }

  obstacle(): Obstacle | undefined {
    return this.#pool.isUp ? undefined : "unreachable";
  }

  obstacleFrom(error: unknown): Obstacle {
    return obstacleFrom(error);
  }

  close(): Promise<void> {
    return this.#pool.close();
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
