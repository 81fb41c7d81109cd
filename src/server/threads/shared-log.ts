import type { Log } from "connect-gateway/logging";

/** The same line of another thread within this time is about the same event. */
const sameEventMs = 2000;

/**
 * One log for several threads. All of them notice an invalid certificate or a lost database, a
 * little apart. It is logged once.
 *
 * @returns the log of a thread, by its number.
 */
export function shareLog(log: Log): (thread: number) => Log {
  const said = new Map<string, { readonly thread: number; readonly at: number }>();

  function isSaid(text: string, thread: number): boolean {
    const now = performance.now();
    for (const [old, { at }] of said) if (now - at > sameEventMs) said.delete(old);
    const before = said.get(text);
    if (before !== undefined && before.thread !== thread) return true;
    said.set(text, { thread, at: now });
    return false;
  }

  return (thread) => {
    const write = (level: keyof Log) => (message: string, cause?: unknown) => {
      const reason = cause instanceof Error ? cause.message : "";
      if (!isSaid(`${level} ${message}: ${reason}`, thread)) log[level](message, cause);
    };
    return { info: write("info"), warn: write("warn"), error: write("error") };
  };
}
