import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import type { Connect } from "./connect.ts";
import { ConnectionLost, remedyFor } from "./failure.ts";
import type { PostgresLimits } from "./limits.ts";
import type { Session } from "./session.ts";

/** Without a session, it opens one by itself, or the end of an outage would go unnoticed. */
export class SessionPool {
  readonly #connect: Connect;
  readonly #limits: PostgresLimits;
  readonly #open = new Set<Session>();
  /** Most recently used first, so that the others can expire. */
  readonly #idle: { readonly session: Session; readonly timer: NodeJS.Timeout }[] = [];
  readonly #closing = new AbortController();
  /** The running attempt to open a session while there is none. */
  #recovery: Promise<void> | undefined;
  #recovering: Promise<void> | undefined;

  /** @param first An open session to start with. */
  constructor(connect: Connect, limits: PostgresLimits, first: Session) {
    this.#connect = connect;
    this.#limits = limits;
    this.#adopt(first);
    this.release(first);
  }

  /** Whether there is a session, or was a moment ago. */
  get isUp(): boolean {
    return this.#open.size > 0;
  }

  /** To release or drop. The engine limits how many. @throws What prevented opening one. */
  async acquire(): Promise<Session> {
    if (!this.isUp) await this.#recovery;
    this.#assertNotClosed();
    const entry = this.#idle.pop();
    clearTimeout(entry?.timer);
    const session = entry?.session ?? this.#adopt(await this.#connect());
    if (this.#closing.signal.aborted) this.drop(session);
    this.#assertNotClosed();
    return session;
  }

  #assertNotClosed(): void {
    if (this.#closing.signal.aborted) throw new ConnectionLost("the store is closed");
  }

  release(session: Session): void {
    if (!session.isOpen || this.#closing.signal.aborted) {
      this.drop(session);
      return;
    }
    const timer = setTimeout(() => {
      if (this.#open.size === 1) return;
      this.#forget(session);
      void session.close();
    }, this.#limits.idleTimeoutMs).unref();
    this.#idle.push({ session, timer });
  }

  drop(session: Session): void {
    session.destroy();
    this.#forget(session);
  }

  /** Call when the server has changed state: idle sessions may not have noticed it yet. */
  dropIdle(): void {
    for (const { session } of [...this.#idle]) this.drop(session);
  }

  /** Call when the host hangs: statements on other sessions will not be answered either. */
  dropAll(): void {
    for (const session of [...this.#open]) this.drop(session);
  }

  /** Works in a session. Drops it, and idle ones, if the work must be done on another. */
  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.acquire();
    try {
      const result = await work(session);
      this.release(session);
      return result;
    } catch (error) {
      if (remedyFor(error) === "elsewhere") {
        this.drop(session);
        this.dropIdle();
      } else {
        this.release(session);
      }
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // One that it connects now is dropped when it is released.
    const ends = [...this.#open].map((session) => session.close());
    await Promise.allSettled(ends);
  }

  #adopt(session: Session): Session {
    this.#open.add(session);
    void session.lost.then(() => this.#forget(session));
    return session;
  }

  #forget(session: Session): void {
    const index = this.#idle.findIndex((entry) => entry.session === session);
    for (const { timer } of index === -1 ? [] : this.#idle.splice(index, 1)) clearTimeout(timer);
    if (!this.#open.delete(session) || this.isUp || this.#closing.signal.aborted) return;
    this.#recovering ??= this.#recover().finally(() => {
      this.#recovering = undefined;
    });
  }

  /** Runs until there is a session again, or the pool closes. */
  async #recover(): Promise<void> {
    const { signal } = this.#closing;
    for (let tries = 1; !this.isUp && !signal.aborted; tries++) {
      this.#recovery = this.#connect().then((session) => this.release(this.#adopt(session)));
      try {
        await this.#recovery;
      } catch {
        await delay(backoffMs(tries, this.#limits), undefined, { signal }).catch(() => {});
      }
    }
    this.#recovery = undefined;
  }
}
