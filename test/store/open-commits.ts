import { expect } from "vitest";
import type { BatchEngine, RowOutcome } from "../../src/store/engine.ts";
import { type CommitWatch, GroupCommit } from "../../src/store/group-commit.ts";
import { type CommitLimits, resolveLimits } from "../../src/store/options.ts";

/** A commit that the test ends: what it contains, and how to end it. */
export interface OpenCommit {
  readonly ids: readonly bigint[];
  readonly part: string;
  succeed(outcomes?: readonly RowOutcome[]): void;
  fail(error: Error): void;
}

/** A group commit whose commits end when the test says so. */
export function begin(
  limits: Partial<CommitLimits> = {},
  engine: Partial<Omit<BatchEngine, "commit">> = {},
) {
  const begun: OpenCommit[] = [];
  const whole = {
    commitsMax: 1,
    commitsAhead: 0,
    mergesCommits: false,
    partOf: () => "",
    ...engine,
  };
  const open = new Map<string, number>();
  let wake = () => {};
  const onBegun = (resolve: () => void) => {
    wake = resolve;
  };
  const commit: BatchEngine["commit"] = (batch, part) => {
    const atOnce = (open.get(part) ?? 0) + 1;
    open.set(part, atOnce);
    // One retry runs beside the others.
    const retries = engine.retries === undefined ? 0 : 1;
    const max = whole.commitsMax + whole.commitsAhead + retries;
    expect(atOnce, "commits at once").toBeLessThanOrEqual(max);
    const { promise, resolve, reject } = Promise.withResolvers<readonly RowOutcome[]>();
    begun.push({
      ids: batch.map((plant) => plant.id),
      part,
      succeed: (outcomes = batch.map(() => "created")) => resolve(outcomes),
      fail: reject,
    });
    wake();
    return promise.finally(() => open.set(part, (open.get(part) ?? 0) - 1));
  };
  const told: string[] = [];
  const watch: CommitWatch = {
    commitSucceeded: () => void told.push("succeeded"),
    commitFailed: (error) => void told.push((error as Error).message),
  };
  const group = new GroupCommit({ ...whole, commit }, resolveLimits(limits), { watch });
  return { group, begun, told, nextCommit: () => takeNext(begun, onBegun) };
}

async function takeNext<T>(begun: T[], onBegun: (resolve: () => void) => void): Promise<T> {
  for (;;) {
    const commit = begun.shift();
    if (commit !== undefined) return commit;
    await new Promise<void>(onBegun);
  }
}
