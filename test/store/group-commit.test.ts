import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { BatchEngine, RowOutcome } from "../../src/store/engine.ts";
import { GroupCommit } from "../../src/store/group-commit.ts";
import { type CommitObserver, defaultLimits } from "../../src/store/options.ts";
import { heapBytes } from "../../src/store/waiting-room.ts";
import { begin, type OpenCommit } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

const single = { commitsMax: 1, commitsAhead: 0, mergesCommits: false, partOf: () => "" } as const;

describe("commits are shared", () => {
  test("by all plants that arrive while a commit is running, in order", async () => {
    const { group, nextCommit } = begin();
    const all = [group.submit(plantOf(0n))];
    const first = await nextCommit();
    for (const id of [3n, 1n, 2n]) all.push(group.submit(plantOf(id)));
    expect(first.ids).toEqual([0n]);
    first.succeed();
    const second = await nextCommit();
    expect(second.ids).toEqual([3n, 1n, 2n]);
    second.succeed();
    expect(await Promise.all(all)).toEqual(Array(4).fill("created"));
  });

  test("by all plants that arrive in one turn of the event loop", async () => {
    const { group, nextCommit } = begin();
    for (let id = 0n; id < 31n; id++) void group.submit(plantOf(id));
    expect((await nextCommit()).ids).toHaveLength(31);
  });

  test("by 32 plants as soon as they arrive; the rest of a burst shares the next commit", async () => {
    const { group, nextCommit, begun } = begin();
    for (let id = 0n; id < 32n; id++) void group.submit(plantOf(id));
    expect(begun).toHaveLength(1);
    for (let id = 32n; id < 100n; id++) void group.submit(plantOf(id));
    const first = await nextCommit();
    expect(first.ids).toHaveLength(32);
    first.succeed();
    expect((await nextCommit()).ids).toEqual(Array.from({ length: 68 }, (_, i) => BigInt(32 + i)));
  });

  test("up to the limit of rows", async () => {
    const { group, nextCommit } = begin();
    for (let id = 0n; id < 1000n; id++) void group.submit(plantOf(id));
    const sizes: number[] = [];
    for (let commit = 0; commit < 3; commit++) {
      const next = await nextCommit();
      sizes.push(next.ids.length);
      next.succeed();
    }
    expect(sizes).toEqual([32, 512, 456]);
  });

  test("up to the limit of bytes; a larger plant is committed alone", async () => {
    const { group, nextCommit } = begin({ batchBytesMax: 3 * heapBytes(plantOf(0n)) });
    const large = { id: 9n, name: "x".repeat(10_000), tag: undefined };
    for (const id of [0n, 0n, 0n, 0n]) void group.submit(plantOf(id));
    void group.submit(large);
    void group.submit(plantOf(0n));
    const sizes: number[] = [];
    for (let commit = 0; commit < 4; commit++) {
      const next = await nextCommit();
      sizes.push(next.ids.length);
      next.succeed();
    }
    expect(sizes).toEqual([3, 1, 1, 1]);
  });

  test("but each caller has its own result", async () => {
    const { group, nextCommit } = begin();
    const all = [group.submit(plantOf(0n)), group.submit(plantOf(1n)), group.submit(plantOf(2n))];
    (await nextCommit()).succeed(["created", "id_taken", "created"]);
    expect(await Promise.all(all)).toEqual(["created", "id_taken", "created"]);
  });

  test("and nobody is answered before the commit has returned", async () => {
    const { group, nextCommit } = begin();
    const answered: string[] = [];
    const all = [0n, 1n].map((id) => group.submit(plantOf(id)).then((it) => answered.push(it)));
    const commit = await nextCommit();
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(answered).toEqual([]);
    commit.succeed();
    await Promise.all(all);
  });
});

describe("an engine with parallel commits", () => {
  test("gets a burst in that many commits, and no more", async () => {
    const { group, nextCommit, begun } = begin({}, { commitsMax: 2 });
    for (let id = 0n; id < 40n; id++) void group.submit(plantOf(id));
    for (let turn = 0; turn < 2; turn++) await nextTurn();
    for (let id = 40n; id < 100n; id++) void group.submit(plantOf(id));
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(begun.map(({ ids }) => ids.length)).toEqual([32, 8]);
    for (const commit of begun.splice(0)) commit.succeed();
    expect((await nextCommit()).ids).toHaveLength(60);
  });

  test("gets the next plant at once, up to that number; then waiting plants share a commit", async () => {
    const { group, nextCommit, begun } = begin({}, { commitsMax: 2 });
    const all = [group.submit(plantOf(0n))];
    const first = await nextCommit();
    all.push(group.submit(plantOf(1n)));
    const second = await nextCommit();
    for (const id of [2n, 3n]) all.push(group.submit(plantOf(id)));
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(begun).toEqual([]);
    second.succeed();
    const third = await nextCommit();
    expect([first.ids, second.ids, third.ids]).toEqual([[0n], [1n], [2n, 3n]]);
    third.succeed(["created", "id_taken"]);
    first.fail(new Error("disk"));
    const outcomes = (await Promise.allSettled(all)).map((result) =>
      result.status === "fulfilled" ? result.value : result.reason.code,
    );
    expect(outcomes).toEqual(["unavailable", "created", "created", "id_taken"]);
  });

  test("gets a burst larger than one commit as several", async () => {
    const { group, nextCommit } = begin({ batchRowsMax: 10 }, { commitsMax: 3 });
    for (let id = 0n; id < 40n; id++) void group.submit(plantOf(id));
    const sizes = [await nextCommit(), await nextCommit(), await nextCommit()].map(
      ({ ids }) => ids.length,
    );
    expect(sizes).toEqual([10, 10, 10]);
  });

  test("is drained when all have ended", async () => {
    const { group, nextCommit } = begin({}, { commitsMax: 2 });
    const ends: string[] = [];
    void group.submit(plantOf(0n));
    const first = await nextCommit();
    void group.submit(plantOf(1n));
    const second = await nextCommit();
    const drained = group.drain().then(() => ends.push("drained"));
    second.succeed();
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    expect(ends).toEqual([]);
    first.succeed();
    await drained;
  });
});

describe("a commit that fails", () => {
  test.each<[string, (commit: OpenCommit) => void]>([
    ["by itself", (commit) => commit.fail(new Error("disk"))],
    ["with too few outcomes", (commit) => commit.succeed(["created"])],
    ["with too many outcomes", (commit) => commit.succeed(["created", "created", "created"])],
  ])(
    "%s makes all its plants unavailable, with the cause, and the next one works",
    async (_, end) => {
      const { group, nextCommit } = begin();
      const all = Promise.allSettled([group.submit(plantOf(0n)), group.submit(plantOf(1n))]);
      const commit = await nextCommit();
      const later = group.submit(plantOf(2n));
      end(commit);
      for (const result of await all) {
        expect(result).toMatchObject({
          status: "rejected",
          reason: { name: "PlantError", code: "unavailable", cause: expect.any(Error) },
        });
      }
      (await nextCommit()).succeed();
      expect(await later).toBe("created");
    },
  );

  test("may throw", async () => {
    const cause = new Error("at once");
    const commit = () => {
      throw cause;
    };
    const group = new GroupCommit({ ...single, commit }, defaultLimits);
    await expect(group.submit(plantOf(0n))).rejects.toMatchObject({ code: "unavailable", cause });
    await expect(group.submit(plantOf(0n))).rejects.toMatchObject({ code: "unavailable", cause });
  });
});

test("drain waits for the running commit and for everything that waits", async () => {
  const { group, nextCommit } = begin();
  const ends: string[] = [];
  const submit = (id: bigint) => group.submit(plantOf(id)).then(() => ends.push(`${id}`));
  void submit(0n);
  const first = await nextCommit();
  void submit(1n);
  const drained = group.drain().then(() => ends.push("drained"));
  first.succeed();
  (await nextCommit()).succeed();
  await drained;
  expect(ends).toEqual(["0", "1", "drained"]);
});

test("drain, called twice, also waits for plants that are ready", async () => {
  const { group, nextCommit } = begin({}, { commitsMax: 2 });
  const ends: string[] = [];
  for (let id = 0n; id < 70n; id++) void group.submit(plantOf(id));
  const commits = [await nextCommit(), await nextCommit()];
  const drained = [1, 2].map((n) => group.drain().then(() => ends.push(`${n}`)));
  for (const commit of commits) commit.succeed();
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(ends).toEqual([]);
  (await nextCommit()).succeed();
  await Promise.all(drained);
  expect(ends).toEqual(["1", "2"]);
});

describe("an observer", () => {
  test("is notified of queue changes and of each commit, including failed ones", async () => {
    const told: string[] = [];
    const observer: CommitObserver = {
      queueChanged: (rows, bytes) => told.push(`${rows} wait, ${bytes > 0 ? "some" : "no"} bytes`),
      commitEnded: ({ rows, durationMs, isFailed }) =>
        told.push(`${rows} ${isFailed ? "failed" : "done"}, ${durationMs >= 0 ? "timed" : "?"}`),
    };
    const begun: PromiseWithResolvers<readonly RowOutcome[]>[] = [];
    const commit: BatchEngine["commit"] = () => {
      const one = Promise.withResolvers<readonly RowOutcome[]>();
      begun.push(one);
      return one.promise;
    };
    const group = new GroupCommit({ ...single, commit }, defaultLimits, { observer });
    const leaving = new AbortController();
    const all = [1n, 2n, 3n].map((id) =>
      group.submit(plantOf(id), id === 3n ? leaving.signal : undefined).catch(() => {}),
    );
    leaving.abort();
    while (begun.length === 0) await nextTurn();
    all.push(group.submit(plantOf(4n)).catch(() => {}));
    begun[0]?.resolve(["created", "created"]);
    while (begun.length === 1) await nextTurn();
    begun[1]?.reject(new Error("the disk is gone"));
    await Promise.all(all);
    await group.drain();
    expect(told).toEqual([
      "1 wait, some bytes",
      "2 wait, some bytes",
      "3 wait, some bytes",
      "2 wait, some bytes",
      "0 wait, no bytes",
      "1 wait, some bytes",
      "2 done, timed",
      "0 wait, no bytes",
      "1 failed, timed",
    ]);
  });
});
