import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { expect, onTestFinished } from "vitest";
import type { CommitObserver, EndedCommit } from "../../src/store/commit-observer.ts";
import type { BatchEngine, RowOutcome } from "../../src/store/engine.ts";
import { GroupCommit } from "../../src/store/group-commit.ts";
import { type CommitLimits, resolveLimits } from "../../src/store/options.ts";
import { Bell } from "../../src/store/sqlite/queue/bell.ts";
import { createQueueMemory } from "../../src/store/sqlite/queue/memory.ts";
import { QueueReader, type RowValues } from "../../src/store/sqlite/queue/queue-reader.ts";
import { QueuedCommits } from "../../src/store/sqlite/queue/queued-commits.ts";

/** A commit that the test ends: what it contains, and how to end it. */
export interface OpenCommit {
  readonly ids: readonly bigint[];
  readonly abandoned: AbortSignal;
  succeed(outcomes?: readonly RowOutcome[]): void;
  fail(error: Error): void;
}

export interface OpenQueueCommit extends OpenCommit {
  readonly rows: readonly RowValues[];
}

/** A group commit whose commits end when the test says so. */
export function begin(limits: Partial<CommitLimits> = {}, commitsMax = 1) {
  const begun: OpenCommit[] = [];
  let open = 0;
  let wake = () => {};
  const onBegun = (resolve: () => void) => {
    wake = resolve;
  };
  const commit: BatchEngine["commit"] = (batch, abandoned) => {
    expect(++open, "commits at once").toBeLessThanOrEqual(commitsMax);
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
  const group = new GroupCommit({ commit, commitsMax }, resolveLimits(limits));
  return { group, begun, nextCommit: () => takeNext(begun, onBegun) };
}

/**
 * The same for plants that a thread takes from a queue in shared memory. Here, this thread does.
 *
 * @param durationUs How long commits are said to take.
 */
export function beginQueue(limits: Partial<CommitLimits> = {}, durationUs = 1) {
  const whole = resolveLimits(limits);
  const memory = createQueueMemory();
  const { port1, port2 } = new MessageChannel();
  const reader = new QueueReader(memory, port1);
  const ended: EndedCommit[] = [];
  let waiting = 0;
  const observer: CommitObserver = {
    queueChanged(rows) {
      waiting = rows;
    },
    commitEnded: (commit) => void ended.push(commit),
  };
  const end = { memory, bell: Bell.create().memory, port: port2 };
  const group = new QueuedCommits(end, whole, observer);
  const begun: OpenQueueCommit[] = [];
  let wake = () => {};
  const onBegun = (resolve: () => void) => {
    wake = resolve;
  };
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
    group.close();
    reader.close();
  });
  void commitAll();
  const nextCommit = () => takeNext(begun, onBegun);
  return { group, begun, nextCommit, ended, waiting: () => waiting };

  async function commitAll(): Promise<void> {
    while (!isOver) {
      const { batchRowsMax: rows, batchBytesMax: bytes } = whole;
      const taken = reader.take({ rows, bytes, isWhole: true });
      const report = (idTaken: readonly boolean[] | undefined) => {
        reader.report({ idTaken, rows: taken.length, durationUs });
        reader.notify();
      };
      if (taken.length > 0) report(await outcomeOf(taken));
      else if (reader.isDue) report([]);
      await nextTurn();
    }
  }

  /** @returns Whether each id is taken; undefined if the commit failed. */
  function outcomeOf(rows: readonly RowValues[]): Promise<readonly boolean[] | undefined> {
    const ids = rows.map(([id]) => id);
    const { promise, resolve } = Promise.withResolvers<readonly boolean[] | undefined>();
    begun.push({
      ids,
      rows,
      abandoned: new AbortController().signal,
      succeed: (outcomes = []) => resolve(ids.map((_, index) => outcomes[index] === "id_taken")),
      fail({ message }) {
        reader.explain({ code: "SQLITE_TEST", message });
        resolve(undefined);
      },
    });
    wake();
    return promise;
  }
}

async function takeNext<T>(begun: T[], onBegun: (resolve: () => void) => void): Promise<T> {
  for (;;) {
    const commit = begun.shift();
    if (commit !== undefined) return commit;
    await new Promise<void>(onBegun);
  }
}
