import { setTimeout as delay } from "node:timers/promises";
import type { NewPlant } from "../../plant.ts";
import type { Engine, RowOutcome } from "../engine.ts";
import { backoffMs } from "./backoff.ts";
import { remedyFor } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import type { SessionPool } from "./pool.ts";
import { writeBatch } from "./writer.ts";

/**
 * Never fails for good: whatever is wrong with a server can be mended while
 * this runs.
 */
export class PostgresEngine implements Engine {
  readonly commitsMax: number;
  readonly commitsAhead = 0;
  readonly #pool: SessionPool;
  readonly #limits: PostgresLimits;

  constructor(pool: SessionPool, commitsMax: number, limits: PostgresLimits) {
    this.#pool = pool;
    this.commitsMax = commitsMax;
    this.#limits = limits;
  }

  /** Tries until it succeeds, nothing helps, nobody waits, or the time is up. */
  async commit(batch: readonly NewPlant[], abandoned: AbortSignal): Promise<readonly RowOutcome[]> {
    const begin = this.#pool.downSince ?? performance.now();
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt(batch);
      } catch (error) {
        const pauseMs = backoffMs(tries, this.#limits);
        const isLate = performance.now() + pauseMs - begin > this.#limits.retryLimitMs;
        if (remedyFor(error) === "none" || isLate || abandoned.aborted) throw error;
        await delay(pauseMs, undefined, { signal: abandoned }).catch(() => {});
      }
    }
  }

  ready(): boolean {
    return this.#pool.isUp;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #attempt(batch: readonly NewPlant[]): Promise<readonly RowOutcome[]> {
    const session = await this.#pool.acquire();
    try {
      const outcomes = await writeBatch(
        (text, values) => session.query(text, values, this.#limits.attemptTimeoutMs),
        batch,
      );
      this.#pool.release(session);
      return outcomes;
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
