import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "vitest";
import type { Cancellation, NewPlant } from "../../src/plant.ts";
import type { BatchEngine, RowOutcome } from "../../src/store/engine.ts";
import { type CommitWatch, createGroupCommit } from "../../src/store/group-commit.ts";
import { type CommitLimits, type CommitObserver, defaultLimits } from "../../src/store/options.ts";
import { plantOf } from "./plant-of.ts";

/** An error that a single row may be the cause of. */
export const ofRow = new Error("of a row");

/** A commit that the test ends: what it contains, and how to end it. */
export interface OpenCommit {
  readonly ids: readonly bigint[];
  readonly part: string;
  succeed(outcomes?: readonly (RowOutcome | Error)[]): void;
  fail(error: Error): void;
}

/** A group commit whose commits end when the test says so. */
export function begin(
  limits: Partial<CommitLimits> = {},
  given: Partial<BatchEngine> = {},
  observer?: CommitObserver,
) {
  const begun: OpenCommit[] = [];
  const open = new Map<string, number>();
  let wake = () => {};
  const commit: BatchEngine["commit"] = (batch, part) => {
    const atOnce = (open.get(part) ?? 0) + 1;
    open.set(part, atOnce);
    // One retry runs beside the others.
    const max = engine.commitsMax + engine.commitsAhead + (engine.retries === undefined ? 0 : 1);
    expect(atOnce, "commits at once").toBeLessThanOrEqual(max);
    const { promise, resolve, reject } = Promise.withResolvers<readonly (RowOutcome | Error)[]>();
    const ids = batch.map(({ id }) => id);
    begun.push({
      ...{ ids, part },
      succeed: (outcomes = ids.map(() => "created")) => resolve(outcomes),
      fail: reject,
    });
    wake();
    return promise.finally(() => open.set(part, (open.get(part) ?? 0) - 1));
  };
  const alone = { commitsMax: 1, commitsAhead: 0, mergesCommits: false, partOf: () => "" };
  const isOfRow = (error: unknown) => error === ofRow;
  const engine: BatchEngine = { ...alone, isOfRow, commit, ...given };
  const told: string[] = [];
  const watch: CommitWatch = {
    commitSucceeded: () => void told.push("succeeded"),
    commitFailed: (error) => void told.push((error as Error).message),
    commitRetried: () => {},
    callersWait: () => {},
  };
  const group = createGroupCommit(engine, { ...defaultLimits, ...limits }, { watch, observer });
  /** Some tests do not care what becomes of a plant, which is rejected after ten seconds at most. */
  const submit = (plant: number | NewPlant, signal?: Cancellation) => {
    const created = group.submit(typeof plant === "number" ? plantOf(plant) : plant, signal);
    created.catch(() => {});
    return created;
  };
  async function nextCommit(): Promise<OpenCommit> {
    for (;;) {
      const next = begun.shift();
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  /** The rows of the next commits, which succeed. */
  async function nextSizes(count: number): Promise<readonly number[]> {
    const sizes: number[] = [];
    while (sizes.length < count) {
      const next = await nextCommit();
      sizes.push(next.ids.length);
      next.succeed();
    }
    return sizes;
  }
  return { group, submit, begun, told, nextCommit, nextSizes };
}

/** Whatever needs no event has happened. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}
