import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "connect-gateway/logging";
import type { ServingThread } from "./thread.ts";

export interface SupervisedThreads {
  readonly count: number;
  /** 0 picks a free one. */
  readonly port: number;
  /** @param number From 1. */
  readonly start: (number: number, port: number) => ServingThread;
  readonly log: Log;
  /** Called at most once, when a thread cannot be restarted. */
  readonly onFailure: (error: Error) => void;
  /** The pause before a thread is restarted, in ms. Default: {@link backoffMs}. */
  readonly pauseMs?: (deaths: number) => number;
}

export interface Supervision {
  readonly port: number;
  /** Lets every thread finish its requests and exit. */
  drain(): Promise<void>;
}

/** After so many failed starts in a row, the next would fail the same way. */
export const failedStartsMax = 5;

/** Doubles with each death in a row, from 100 ms to 5 s. */
export function backoffMs(deaths: number): number {
  return Math.min(100 * 2 ** (deaths - 1), 5000);
}

/** A thread that lived for this long resets the count of deaths. */
const settledAfterMs = 60_000;

/**
 * Starts threads that listen on one port, and restarts a thread that dies.
 *
 * @throws the error of a thread's first start. No thread is left then.
 */
export async function superviseThreads(threads: SupervisedThreads): Promise<Supervision> {
  const { count, start, log, pauseMs = backoffMs } = threads;
  const closing = new AbortController();
  const running = new Set<ServingThread>();

  function launch(number: number, port: number): ServingThread {
    const thread = start(number, port);
    running.add(thread);
    void thread.ended.then(() => running.delete(thread));
    return thread;
  }

  async function drain(): Promise<void> {
    closing.abort();
    const ends = [...running].map((thread) => thread.ended);
    for (const thread of running) thread.drain();
    for (const error of await Promise.all(ends)) {
      if (error !== undefined) log.error("a serving thread died while it drained", error);
    }
  }

  /** Returns on a drain, or when the thread cannot be restarted. */
  async function keepRunning(number: number, port: number, first: ServingThread): Promise<void> {
    let thread = first;
    let deaths = 0;
    let failedStarts = 0;
    for (;;) {
      const startedAt = performance.now();
      const error = await thread.ended;
      if (closing.signal.aborted) return;
      failedStarts = (await hasListened(thread)) ? 0 : failedStarts + 1;
      if (failedStarts === failedStartsMax) {
        threads.onFailure(new Error(`serving thread ${number} does not start`, { cause: error }));
        return;
      }
      deaths = performance.now() - startedAt > settledAfterMs ? 1 : deaths + 1;
      log.error(`serving thread ${number} died and is being restarted`, error);
      await delay(pauseMs(deaths), undefined, { signal: closing.signal }).catch(() => {});
      if (closing.signal.aborted) return;
      thread = launch(number, port);
    }
  }

  try {
    const first = launch(1, threads.port);
    const port = await first.listening;
    const others = Array.from({ length: count - 1 }, (_, index) => launch(index + 2, port));
    await Promise.all(others.map((thread) => thread.listening));
    for (const [index, thread] of [first, ...others].entries()) {
      void keepRunning(index + 1, port, thread);
    }
    return { port, drain };
  } catch (error) {
    await drain();
    throw error;
  }
}

function hasListened(thread: ServingThread): Promise<boolean> {
  return thread.listening.then(
    () => true,
    () => false,
  );
}
