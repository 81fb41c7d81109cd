/** Threads that die are started again, until it is clear that this does not help. */
import { describe, expect, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import {
  backoffMs,
  failedStartsMax,
  superviseThreads,
} from "../../../src/server/threads/supervision.ts";
import type { ServingThread } from "../../../src/server/threads/thread.ts";
import { createRecordedLog } from "../../support/recorded-log.ts";

/** A thread that does what the test says. */
interface FakeThread extends ServingThread {
  readonly number: number;
  readonly port: number;
  readonly drained: boolean;
  listen(port: number): void;
  die(error?: Error): void;
}

/** @param begin What each thread does at once. */
function createThreads(begin: (thread: FakeThread) => void) {
  const started: FakeThread[] = [];
  let wake = () => {};
  const start = (number: number, port: number): ServingThread => {
    const listening = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<Error | undefined>();
    listening.promise.catch(() => {});
    const die = (error?: Error) => {
      listening.reject(error);
      ended.resolve(error);
    };
    const thread = {
      ...{ number, port, die, drained: false, listen: listening.resolve },
      ...{ listening: listening.promise, ended: ended.promise },
      drain() {
        thread.drained = true;
        die();
      },
    };
    started.push(thread);
    begin(thread);
    wake();
    return thread;
  };
  const nth = async (index: number): Promise<FakeThread> => {
    for (;;) {
      const thread = started[index];
      if (thread !== undefined) return thread;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await within(`the start of thread ${index}`, promise);
    }
  };
  return { start, started, nth };
}

function begin(threads: ReturnType<typeof createThreads>, count = 2) {
  const log = createRecordedLog();
  const failed = Promise.withResolvers<Error>();
  const { start } = threads;
  const deaths: number[] = [];
  const starting = superviseThreads({
    ...{ count, port: 0, start, log },
    onFailure: failed.resolve,
    pauseMs: (count) => deaths.push(count) && 0,
  });
  return { starting, log, deaths, failed: failed.promise };
}

const crash = new Error("crash");

describe("a start", () => {
  test("gives the port that the first has taken to all others", async () => {
    const threads = createThreads((thread) => thread.listen(4711));
    const { port, drain } = await begin(threads, 3).starting;
    expect(port).toBe(4711);
    expect(threads.started.map((thread) => [thread.number, thread.port])).toEqual([
      [1, 0],
      [2, 4711],
      [3, 4711],
    ]);
    await drain();
  });

  test.each([1, 2])("that fails in thread %i ends the others", async (failing) => {
    const threads = createThreads((thread) =>
      thread.number === failing ? thread.die(crash) : thread.listen(4711),
    );
    await expect(begin(threads, 3).starting).rejects.toBe(crash);
    const others = threads.started.filter(({ number }) => number !== failing);
    expect(others.map(({ drained }) => drained)).toEqual(others.map(() => true));
  });
});

describe("a thread that dies", () => {
  test("is started again at the same port, and said to have died", async () => {
    const threads = createThreads((thread) => thread.listen(4711));
    const { starting, log } = begin(threads);
    const { drain } = await starting;
    threads.started[1]?.die(crash);
    expect(await threads.nth(2)).toMatchObject({ number: 2, port: 4711 });
    expect(log.lines).toEqual([
      {
        level: "error",
        message: "serving thread 2 died and is being restarted",
        cause: crash,
      },
    ]);
    await drain();
    expect(threads.started.map(({ drained }) => drained)).toEqual([true, false, true]);
  });

  test("is not started again in a drain", async () => {
    const threads = createThreads((thread) => thread.listen(4711));
    const { drain } = await begin(threads).starting;
    threads.started[0]?.die(crash);
    await drain();
    expect(threads.started).toHaveLength(2);
  });

  test("is drained while it starts", async () => {
    const threads = createThreads((thread) => {
      if (threads.started.length <= 2) thread.listen(4711);
    });
    const { drain } = await begin(threads).starting;
    threads.started[0]?.die(crash);
    const again = await threads.nth(2);
    await drain();
    expect(again.drained).toBe(true);
  });

  test(`ends the service when ${failedStartsMax} starts have failed in a row`, async () => {
    const threads = createThreads((thread) => {
      if (threads.started.length <= 2) thread.listen(4711);
      else thread.die(crash);
    });
    const { starting, failed } = begin(threads);
    const { drain } = await starting;
    threads.started[1]?.die(crash);
    const error = await within("the failure", failed);
    expect(error.message).toBe("serving thread 2 does not start");
    expect(error.cause).toBe(crash);
    expect(threads.started).toHaveLength(2 + failedStartsMax);
    await drain();
  });

  test("goes on being started again when it listens in between", async () => {
    const threads = createThreads((thread) => {
      thread.listen(4711);
      const again = threads.started.length - 2;
      if (again > 0 && again <= failedStartsMax) queueMicrotask(() => thread.die(crash));
    });
    const { starting, log, deaths } = begin(threads);
    const { drain } = await starting;
    threads.started[1]?.die(crash);
    await threads.nth(2 + failedStartsMax);
    expect(deaths).toEqual([1, 2, 3, 4, 5, 6]);
    expect(log.lines).toHaveLength(1 + failedStartsMax);
    await drain();
  });
});

test("the pauses double, to a limit", () => {
  const pauses = [1, 2, 3, 6, 7, 1000].map(backoffMs);
  expect(pauses).toEqual([100, 200, 400, 3200, 5000, 5000]);
});
