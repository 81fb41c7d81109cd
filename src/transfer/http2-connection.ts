import { type ClientHttp2Session, connect } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";

export interface Http2ConnectionOptions {
  /** Certificates in PEM to trust, in place of Node's. */
  readonly ca: string | undefined;
  /** How long a server may say nothing before it is asked, and how long it then has. */
  readonly quietMsMax: number;
}

/**
 * One connection to a server, made when it is needed, and made anew when it was
 * lost or the server wants no more calls on it. Those on it then come to their end.
 */
export class Http2Connection {
  readonly #url: string;
  readonly #options: Http2ConnectionOptions;
  /** The session for new calls. */
  #session: Promise<ClientHttp2Session> | undefined;
  /** With those that only end their calls. */
  readonly #sessions = new Set<ClientHttp2Session>();

  constructor(url: string, options: Http2ConnectionOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** Resolves when there is a connection; all who wait for the same one fail with it. */
  session(): Promise<ClientHttp2Session> {
    this.#session ??= this.#connect();
    return this.#session;
  }

  /** Ends it, and the calls on it. */
  close(): void {
    for (const session of this.#sessions) session.destroy();
  }

  #connect(): Promise<ClientHttp2Session> {
    const { ca, quietMsMax } = this.#options;
    const session = connect(this.#url, {
      ...(ca !== undefined && { ca }),
      settings: { enablePush: false },
    });
    this.#sessions.add(session);
    const connected = Promise.withResolvers<ClientHttp2Session>();
    const forget = () => {
      if (this.#session === connected.promise) this.#session = undefined;
    };
    const watch = setInterval(watchOver(session), quietMsMax);
    session.once("connect", () => connected.resolve(session));
    session.on("goaway", forget);
    session.on("error", (error) => {
      forget();
      connected.reject(error);
    });
    session.on("close", () => {
      forget();
      connected.reject(new ConnectError("the connection was closed", Code.Unavailable));
      this.#sessions.delete(session);
      clearInterval(watch);
    });
    return connected.promise;
  }
}

/** A network that is gone tells nobody: a session that is quiet is asked, and ended if it stays so. */
function watchOver(session: ClientHttp2Session): () => void {
  let bytesHeard = 0;
  let isAsked = false;
  return () => {
    if (session.destroyed) return;
    const { bytesRead } = session.socket;
    if (bytesRead !== bytesHeard) {
      bytesHeard = bytesRead;
      isAsked = false;
    } else if (isAsked) {
      session.destroy(new ConnectError("the server does not answer", Code.Unavailable));
    } else {
      isAsked = true;
      if (!session.connecting) session.ping(() => {});
    }
  };
}
