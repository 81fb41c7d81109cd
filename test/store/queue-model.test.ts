/** The ring of a queue under random sizes, callers that leave, and commits of any length. */
import { MessageChannel } from "node:worker_threads";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { NewPlant } from "../../src/plant.ts";
import { resolveLimits } from "../../src/store/options.ts";
import { Bell } from "../../src/store/sqlite/queue/bell.ts";
import { createQueueMemory } from "../../src/store/sqlite/queue/memory.ts";
import { QueueReader } from "../../src/store/sqlite/queue/queue-reader.ts";
import { QueuedCommits } from "../../src/store/sqlite/queue/queued-commits.ts";

/** The ring has 1 MiB, and texts over 85 KiB go by message. */
const length = fc.constantFrom(0, 7, 8, 1000, 20_000, 80_000, 87_360, 100_000);
const burst = fc.record({ length, plants: fc.constantFrom(1, 5, 12, 100) });
const step = fc.record({
  bursts: fc.array(burst, { maxLength: 2 }),
  /** Every nth caller leaves; 0: none. */
  leaving: fc.integer({ min: 0, max: 4 }),
  rowsMax: fc.constantFrom(1, 5, 512),
  commits: fc.integer({ min: 0, max: 5 }),
});

test("plants of callers that stay are taken once, in order and unchanged", async () => {
  const steps = fc.array(step, { minLength: 1, maxLength: 12 });
  await fc.assert(fc.asyncProperty(steps, follow), { numRuns: 50 });
}, 60_000);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function follow(steps: readonly Step[]): Promise<void> {
  const { commits, take, close } = openQueue();
  const wanted: NewPlant[] = [];
  const outcomes: Promise<unknown>[] = [];
  const taken: unknown[] = [];
  let id = 0n;
  for (const { bursts, leaving, rowsMax, commits: count } of steps) {
    const submitted = bursts.flatMap((one) => Array.from({ length: one.plants }, () => one.length));
    for (const [index, size] of submitted.entries()) {
      const plant = { id, name: `${id}`.padEnd(size, "x"), tag: size === 8 ? "" : undefined };
      id++;
      const caller = new AbortController();
      const outcome = commits.submit(plant, caller.signal);
      if (leaving > 0 && index % leaving === 0) {
        caller.abort("gone");
        await expect(outcome).rejects.toBe("gone");
      } else {
        wanted.push(plant);
        outcomes.push(outcome);
      }
    }
    for (let commit = 0; commit < count; commit++) taken.push(...(await take(rowsMax)));
  }
  for (let empty = 0; taken.length < wanted.length && empty < 5; ) {
    const rows = await take(512);
    taken.push(...rows);
    empty = rows.length === 0 ? empty + 1 : 0;
  }
  expect(taken).toEqual(wanted.map(({ id, name, tag }) => [id, name, tag ?? null]));
  expect(new Set(await Promise.all(outcomes))).toEqual(
    new Set(wanted.length > 0 ? ["created"] : []),
  );
  await take(512);
  await commits.drain();
  close();
}

function openQueue() {
  const memory = createQueueMemory();
  const { port1, port2 } = new MessageChannel();
  const limits = resolveLimits({ waitingRowsMax: 1_000_000, waitingBytesMax: 2 ** 31 });
  const commits = new QueuedCommits({ memory, bell: Bell.create().memory, port: port2 }, limits);
  const reader = new QueueReader(memory, port1);
  return {
    commits,
    close() {
      commits.close();
      reader.close();
    },
    async take(rowsMax: number) {
      // A few rows are due only after the turn of the event loop in which they came.
      await new Promise(setImmediate);
      const rows = reader.take({ rows: rowsMax, bytes: 4 * 2 ** 20, isWhole: true });
      reader.report({ idTaken: rows.map(() => false), rows: rows.length, durationUs: 1 });
      reader.notify();
      await new Promise(setImmediate);
      return rows;
    },
  };
}
