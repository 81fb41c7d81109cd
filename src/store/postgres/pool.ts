import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../backoff.ts";
import type { Connect } from "./connect.ts";
import type { PostgresLimits } from "./limits.ts";
import type { Session } from "./session.ts";

/**
 * The sessions of one store. While it has none, it tries by itself to get one:
 * nobody would notice the end of an outage if no plant came.
 */
export class SessionPool {
  readonly #connect: Connect;
  readonly #limits: PostgresLimits;
  readonly #open = new Set<Session>();
  /** The one used last comes first, so that the others can end. */
  readonly #idle: { readonly session: Session; readonly timer: NodeJS.Timeout }[] = [];
  readonly #closing = new AbortController();
  /** The try to get a session that is under way while there is none. */
  #recovery: Promise<void> | undefined;
  #recovering: Promise<void> | undefined;
  #downSince: number | undefined;

  /** @param first Open; the pool begins with it. */
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

  /** When the last session was lost (`performance.now()`), if none has come since. */
  get downSince(): number | undefined {
    return this.#downSince;
  }

  /**
   * Takes a session; to be released or dropped. There is no limit here: the
   * engine has no more than `commitsMax` in use.
   *
   * @throws Whatever keeps a session from being opened.
   */
  async acquire(): Promise<Session> {
    if (!this.isUp) await this.#recovery;
    const entry = this.#idle.pop();
    if (entry === undefined) return this.#adopt(await this.#connect());
    clearTimeout(entry.timer);
    return entry.session;
  }

  release(session: Session): void {
    if (!session.isOpen || this.#closing.signal.aborted) {
      this.drop(session);
      return;
    }
    const timer = setTimeout(() => {
      if (this.#open.size === 1) return;
      this.#forget(session);
      void session.close(this.#limits.connectTimeoutMs);
    }, this.#limits.idleTimeoutMs).unref();
    this.#idle.push({ session, timer });
  }

  drop(session: Session): void {
    session.destroy();
    this.#forget(session);
  }

  /** For when the server is not what it was: others may not know it yet. */
  dropIdle(): void {
    for (const { session } of [...this.#idle]) this.drop(session);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#recovering;
    const ends = [...this.#open].map((session) => session.close(this.#limits.connectTimeoutMs));
    for (const { timer } of this.#idle) clearTimeout(timer);
    await Promise.allSettled(ends);
  }

  #adopt(session: Session): Session {
    this.#open.add(session);
    this.#downSince = undefined;
    void session.lost.then(() => this.#forget(session));
    return session;
  }

  #forget(session: Session): void {
    const index = this.#idle.findIndex((entry) => entry.session === session);
    for (const { timer } of index === -1 ? [] : this.#idle.splice(index, 1)) clearTimeout(timer);
    if (!this.#open.delete(session) || this.isUp || this.#closing.signal.aborted) return;
    this.#downSince ??= performance.now();
    this.#recovering ??= this.#recover().finally(() => {
      this.#recovering = undefined;
    });
  }

  /** Until there is a session again, or the pool closes. */
  async #recover(): Promise<void> {
    const { signal } = this.#closing;
    for (let tries = 1; !this.isUp && !signal.aborted; tries++) {
      this.#recovery = this.#connect().then((session) => this.release(this.#adopt(session)));
      const isDone = await this.#recovery.then(
        () => true,
        () => false,
      );
      if (!isDone) {
        await delay(backoffMs(tries, this.#limits), undefined, { signal }).catch(() => {});
      }
    }
    this.#recovery = undefined;
  }
}
