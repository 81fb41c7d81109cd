import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import { ConnectionLost, remedyFor } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import type { Session } from "./session.ts";

export type SessionPool = ReturnType<typeof createPool>;

/**
 * Without a session, it opens one by itself, or the end of an outage would go unnoticed.
 * @param first An open session to start with.
 */
export function createPool(
  connect: () => Promise<Session>,
  limits: PostgresLimits,
  first: Session,
) {
  const open = new Set<Session>();
  /** Most recently used first, so that the others can expire. */
  const idle: { readonly session: Session; readonly timer: NodeJS.Timeout }[] = [];
  /** For a session that is released, as no more can be opened now. */
  const waiting: (PromiseWithResolvers<Session> & { readonly error: unknown })[] = [];
  /** Until then no other is opened, or a full server would have a failed login for each commit. */
  let refusal = { until: 0, error: undefined as unknown };
  const closing = new AbortController();
  const { signal } = closing;
  /** The last attempt to open a session while there is none. */
  let recovery: Promise<void> | undefined;
  release(adopt(first));
  return {
    use,
    dropAll,
    close,
    /** Whether there is a session, or was a moment ago. */
    get isUp() {
      return open.size > 0;
    },
  };

  /** To release or drop. The engine limits how many. @throws What prevented opening one. */
  async function acquire(): Promise<Session> {
    if (open.size === 0) await recovery;
    assertNotClosed();
    const isRefused = performance.now() < refusal.until;
    const openOne = () => connect().then(adopt, (e) => takeIdle() ?? waitFor(e));
    const session = takeIdle() ?? (await (isRefused ? waitFor(refusal.error) : openOne()));
    if (signal.aborted) drop(session);
    assertNotClosed();
    return session;
  }

  function takeIdle(): Session | undefined {
    const entry = idle.pop();
    clearTimeout(entry?.timer);
    return entry?.session;
  }

  /** Whatever prevents opening another: those that are open store plants, or find out. */
  async function waitFor(error: unknown): Promise<Session> {
    if (open.size === 0) throw error;
    const now = performance.now();
    if (now >= refusal.until) refusal = { until: now + limits.backoffMaxMs, error };
    const released = { ...Promise.withResolvers<Session>(), error };
    waiting.push(released);
    return await released.promise;
  }

  function assertNotClosed(): void {
    if (signal.aborted) throw new ConnectionLost("the store is closed");
  }

  function release(session: Session): void {
    if (!session.isOpen || signal.aborted) drop(session);
    else if (waiting.length > 0) waiting.shift()?.resolve(session);
    else {
      const timer = setTimeout(() => {
        if (open.size === 1) return;
        forget(session);
        void session.close();
      }, limits.idleTimeoutMs).unref();
      idle.push({ session, timer });
    }
  }

  function drop(session: Session): void {
    session.destroy();
    forget(session);
  }

  /** Call when the host hangs: statements on other sessions will not be answered either. */
  function dropAll(): void {
    for (const session of [...open]) drop(session);
  }

  /** Works in a session. Drops it, and idle ones, if the work must be done on another. */
  async function use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await acquire();
    try {
      const result = await work(session);
      release(session);
      return result;
    } catch (error) {
      if (remedyFor(error) !== "elsewhere") release(session);
      // The server has changed state: idle sessions may not have noticed it yet.
      else for (const one of [session, ...idle.map((entry) => entry.session)]) drop(one);
      throw error;
    }
  }

  /** A session that is being opened is dropped when it is released. */
  async function close(): Promise<void> {
    closing.abort();
    await Promise.allSettled([...open].map((session) => session.close()));
  }

  function adopt(session: Session): Session {
    open.add(session);
    void session.lost.then(() => forget(session));
    return session;
  }

  function forget(session: Session): void {
    const index = idle.findIndex((entry) => entry.session === session);
    for (const { timer } of index === -1 ? [] : idle.splice(index, 1)) clearTimeout(timer);
    if (!open.delete(session)) return;
    if (open.size === 0) for (const { reject, error } of waiting.splice(0)) reject(error);
    if (recovery === undefined) void recover();
  }

  /** Runs until there is a session again, or the pool closes. */
  async function recover(): Promise<void> {
    for (let tries = 1; open.size === 0 && !signal.aborted; tries++) {
      recovery = connect().then((session) => release(adopt(session)));
      const pause = () => delay(backoffMs(tries, limits), undefined, { signal }).catch(() => {});
      await recovery.catch(pause);
    }
    recovery = undefined;
  }
}
