/** Plants in shared memory, on their way to the thread that commits them. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { within } from "../../packages/gateway/test/support/within.ts";
import type { EndedCommit } from "../../src/store/commit-observer.ts";
import { beginQueue } from "./open-commits.ts";
import { plantOf } from "./plant-of.ts";

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}

describe("a commit begins", () => {
  test("at once for a single caller", async () => {
    const { group, nextCommit } = beginQueue();
    for (let id = 0n; id < 3n; id++) {
      const created = group.submit(plantOf(id));
      const commit = await nextCommit();
      expect(commit.ids).toEqual([id]);
      commit.succeed();
      expect(await created).toBe("created");
    }
  });

  test("with everything that waits as soon as the previous one ends, and is announced later", async () => {
    const { group, nextCommit, begun } = beginQueue();
    void group.submit(plantOf(0n));
    const first = await nextCommit();
    for (let id = 1n; id <= 100n; id++) void group.submit(plantOf(id));
    await turns();
    expect(begun).toEqual([]);
    first.succeed();
    expect((await nextCommit()).ids).toHaveLength(100);
  });

  test("with callers that return after their answer, rather than before them with few rows", async () => {
    const { group, nextCommit } = beginQueue();
    const again: Promise<unknown>[] = [];
    for (let id = 0n; id < 20n; id++) {
      const submit = () => group.submit(plantOf(id));
      again.push(submit().then(submit).then(submit));
    }
    (await nextCommit()).succeed();
    const open = await nextCommit();
    expect(open.ids.length).toBeGreaterThan(15);
    for (const id of [201n, 202n]) void group.submit(plantOf(id));
    open.succeed();
    const next = await nextCommit();
    expect(next.ids.length).toBeGreaterThan(15);
    next.succeed();
    await Promise.all(again);
  });

  test("up to its limits of rows and bytes", async () => {
    const { group, nextCommit } = beginQueue({ batchRowsMax: 10, batchBytesMax: 5000 });
    void group.submit(plantOf(0n));
    const sizes: number[] = [];
    const first = await nextCommit();
    for (let id = 0n; id < 25n; id++) void group.submit({ ...plantOf(id), name: "", tag: "" });
    void group.submit({ id: 50n, name: "x".repeat(10_000), tag: undefined });
    void group.submit(plantOf(51n));
    first.succeed();
    for (let commit = 0; commit < 5; commit++) {
      const next = await nextCommit();
      sizes.push(next.ids.length);
      next.succeed();
    }
    expect(sizes).toEqual([9, 9, 7, 1, 1]);
  });
});

test("callers that leave before their commit begins do not block a drain", async () => {
  const { group, nextCommit, begun } = beginQueue();
  const callers = Array.from({ length: 20 }, (_, id) => group.submit(plantOf(BigInt(id))));
  (await nextCommit()).succeed();
  await Promise.all(callers);
  // There were many before, so the few that arrive now wait for more.
  const caller = new AbortController();
  const leaving = group.submit(plantOf(100n), caller.signal);
  caller.abort("gone");
  await expect(leaving).rejects.toBe("gone");
  await within("the end of the drain", group.drain());
  expect(begun).toEqual([]);
});

test("each caller has its own outcome", async () => {
  const { group, nextCommit } = beginQueue();
  const all = [group.submit(plantOf(0n)), group.submit(plantOf(1n)), group.submit(plantOf(2n))];
  const outcomes = Promise.all(all);
  for (let left = 3; left > 0; ) {
    const commit = await nextCommit();
    left -= commit.ids.length;
    commit.succeed(commit.ids.map((id) => (id === 1n ? "id_taken" : "created")));
  }
  expect(await outcomes).toEqual(["created", "id_taken", "created"]);
});

test("a failed commit is reported with its cause, and the next one succeeds", async () => {
  const { group, nextCommit } = beginQueue();
  const failing = group.submit(plantOf(1n));
  (await nextCommit()).fail(new Error("no space left"));
  await expect(failing).rejects.toMatchObject({
    code: "unavailable",
    cause: { code: "SQLITE_TEST", message: expect.stringContaining("no space left") },
  });
  const created = group.submit(plantOf(1n));
  (await nextCommit()).succeed();
  expect(await created).toBe("created");
});

test("texts arrive unchanged, including those too long for the ring, over many rounds", async () => {
  const { group, nextCommit } = beginQueue();
  const texts = ["", "Fern", "\ufeffFarn", "naïve ☂", "z".repeat(60_000), "ä".repeat(200_000)];
  const size = (id: number) => texts[id % texts.length] as string;
  let id = 0;
  for (let round = 0; round < 10; round++) {
    const plants = Array.from({ length: 200 }, () => {
      id++;
      return { id: BigInt(id), name: size(id), tag: id % 4 === 0 ? undefined : size(id + 1) };
    });
    const created = Promise.all(plants.map((plant) => group.submit(plant)));
    const expected = plants.map(({ id, name, tag }) => [id, name, tag ?? null]);
    const rows: unknown[] = [];
    while (rows.length < plants.length) {
      const commit = await nextCommit();
      rows.push(...commit.rows);
      commit.succeed();
    }
    expect(rows).toEqual(expected);
    await created;
  }
});

test("the mark at the end of the ring stays until the thread has read it", async () => {
  const { group, nextCommit } = beginQueue();
  const sized = (id: number, length: number) => ({
    id: BigInt(id),
    name: "x".repeat(length),
    tag: undefined,
  });
  for (let id = 1; id <= 11; id++) {
    const created = group.submit(sized(id, 80_000));
    (await nextCommit()).succeed();
    await created;
  }
  // The ring is empty, and its end is too short for the first of these.
  const burst = [sized(100, 80_000)];
  for (let id = 101; id <= 1100; id++) burst.push(sized(id, 1000));
  const outcomes = Promise.all(burst.map((plant) => group.submit(plant)));
  const ids: bigint[] = [];
  while (ids.length < burst.length) {
    const commit = await within("the next commit", nextCommit());
    ids.push(...commit.ids);
    commit.succeed();
  }
  expect(ids).toEqual(burst.map(({ id }) => id));
  expect(new Set(await outcomes)).toEqual(new Set(["created"]));
});

test("texts sent by message count as waiting after their caller has left", async () => {
  const { group, nextCommit } = beginQueue({ waitingBytesMax: 8_000_000 });
  void group.submit(plantOf(0n));
  const open = await nextCommit();
  const codes: unknown[] = [];
  for (let id = 1n; id <= 10n; id++) {
    const caller = new AbortController();
    const plant = { id, name: "x".repeat(1_000_000), tag: undefined };
    const leaving = group.submit(plant, caller.signal);
    caller.abort({ code: "gone" });
    codes.push(await leaving.catch(({ code }) => code));
  }
  expect(codes).toEqual(["gone", "gone", "gone", ...Array(7).fill("overloaded")]);
  open.succeed();
  await group.drain();
  void group.submit({ id: 99n, name: "x".repeat(3_900_000), tag: undefined });
  expect((await nextCommit()).ids).toEqual([99n]);
});

test("each commit is observed once, with its contents", async () => {
  const { group, nextCommit, ended, waiting } = beginQueue();
  void group.submit(plantOf(0n));
  const first = await nextCommit();
  const more = [group.submit(plantOf(1n)), group.submit(plantOf(2n))];
  expect(waiting()).toBe(2);
  first.succeed();
  const second = await nextCommit();
  expect(group.isFull()).toBe(false); // this also processes what was taken
  expect(waiting()).toBe(0);
  second.fail(new Error("disk"));
  await Promise.allSettled(more);
  expect(ended).toEqual<EndedCommit[]>([
    { rows: 1, durationMs: 0.001, isFailed: false },
    { rows: 2, durationMs: 0.001, isFailed: true },
  ]);
});
