import { expect } from "vitest";
import type { Engine, RowOutcome } from "../../src/store/engine.ts";
import { GroupCommit } from "../../src/store/group-commit.ts";
import { type CommitLimits, resolveLimits } from "../../src/store/options.ts";

/** A commit that waits for the test: what it was given, and how it shall end. */
export interface OpenCommit {
  readonly ids: readonly bigint[];
  readonly abandoned: AbortSignal;
  succeed(outcomes?: readonly RowOutcome[]): void;
  fail(error: Error): void;
}

/** A group commit whose commits end when the test says so. */
export function begin(limits: Partial<CommitLimits> = {}, commitsMax = 1, commitsAhead = 0) {
  const begun: OpenCommit[] = [];
  let open = 0;
  let wake = () => {};
  const commit: Engine["commit"] = (batch, abandoned) => {
    expect(++open, "commits at once").toBeLessThanOrEqual(commitsMax + commitsAhead);
    const { promise, resolve, reject } = Promise.withResolvers<readonly RowOutcome[]>();
    begun.push({
      ids: batch.map((plant) => plant.id),
      abandoned,
      succeed: (outcomes = batch.map(() => "created")) => resolve(outcomes),
      fail: reject,
    });
    wake();
    return promise.finally(() => open--);
  };
  const group = new GroupCommit({ commit, commitsMax, commitsAhead }, resolveLimits(limits));
  const nextCommit = async (): Promise<OpenCommit> => {
    for (;;) {
      const commit = begun.shift();
      if (commit !== undefined) return commit;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { group, nextCommit, begun };
}
