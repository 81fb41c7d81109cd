import { once } from "node:events";
import http2, { type ClientHttp2Session } from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { within } from "../../packages/gateway/test/support/within.ts";

/** One connection of HTTP/2 to each thread of a server. */
export interface ThreadSessions extends Disposable {
  readonly sessions: readonly [ClientHttp2Session, ClientHttp2Session];
}

/** For a server of two threads: each takes one connection, so that two are never with the same. */
export const oneConnectionEach = { threads: 2, limits: { connectionsMax: 2 } } as const;

/**
 * Opens a connection to each thread of a server with {@link oneConnectionEach}.
 * The kernel chooses the thread; the one that has a connection refuses another.
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

/** Opens a connection to whichever thread has room, once there is one. */
export async function openSession(origin: string): Promise<ClientHttp2Session> {
  const until = performance.now() + 10_000;
  while (performance.now() < until) {
    const session = await tryToOpen(origin);
    if (session !== undefined) return session;
    // Where no thread has room, one is about to be started.
    await delay(5);
  }
  throw new Error("no thread takes a connection");
}

/** Undefined if the connection was refused. One that is taken has been used once. */
export async function tryToOpen(origin: string): Promise<ClientHttp2Session | undefined> {
  const session = http2.connect(origin);
  session.on("error", () => {});
  // Each request has some.
  session.setMaxListeners(0);
  // Until it has sent a whole request, it would make room for the next. What is asked for is neither
  // counted nor logged.
  const request = session.request({ ":path": "/healthz" });
  // Whatever comes first: an error, too, ends the wait for the other events.
  const opened = once(request.resume(), "end").then(
    () => session,
    () => undefined,
  );
  const closed = new Promise<undefined>((resolve) =>
    session.once("close", () => resolve(undefined)),
  );
  return await within("a session or its refusal", Promise.race([opened, closed]));
}
