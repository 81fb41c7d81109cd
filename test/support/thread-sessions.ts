import { once } from "node:events";
import http2, { type ClientHttp2Session } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { within } from "../../packages/gateway/test/support/within.ts";

/** One HTTP/2 connection to each thread of a server. */
export interface ThreadSessions extends Disposable {
  readonly sessions: readonly [ClientHttp2Session, ClientHttp2Session];
}

/**
 * For a server with two threads: each accepts one connection, so two are never on the same thread.
 */
export const oneConnectionEach = { threads: 2, limits: { connectionsMax: 2 } } as const;

/**
 * Opens a connection to each thread of a server with {@link oneConnectionEach}. The kernel chooses
 * the thread. A thread that has a connection rejects another.
 */
export async function openThreadSessions(origin: string): Promise<ThreadSessions> {
  const one = await openSession(origin);
  const other = await openSession(origin);
  return {
    sessions: [one, other],
    [Symbol.dispose]() {
      one.destroy();
      other.destroy();
    },
  };
}

/** Opens a connection to any thread with room, once there is one. */
export async function openSession(origin: string): Promise<ClientHttp2Session> {
  const until = performance.now() + 10_000;
  while (performance.now() < until) {
    const session = await tryToOpen(origin);
    if (session !== undefined) return session;
    // If no thread has room, one is about to start.
    await delay(5);
  }
  throw new Error("no thread takes a connection");
}

/** Undefined if the connection was rejected. An accepted connection has been used once. */
export async function tryToOpen(origin: string): Promise<ClientHttp2Session | undefined> {
  // By default, Node's client resets streams while it has 10 MB to send.
  const session = http2.connect(origin, { maxSessionMemory: 1000 });
  session.on("error", () => {});
  // Each request adds some.
  session.setMaxListeners(0);
  // A connection that has not sent a complete request would be closed to make room for the next
  // one. This request is neither counted nor logged.
  const request = session.request({ ":path": "/healthz" });
  // Whichever comes first: an error also ends the wait for the other events.
  const opened = once(request.resume(), "end").then(
    () => session,
    () => undefined,
  );
  const closed = new Promise<undefined>((resolve) =>
    session.once("close", () => resolve(undefined)),
  );
  return await within("a session or its refusal", Promise.race([opened, closed]));
}
