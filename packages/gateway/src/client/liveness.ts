import type { ClientHttp2Session } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GuardedSocket } from "./guarded-socket.ts";

export interface LivenessOptions {
  readonly quietMsMax: number;
  /** Whether a call is under way. */
  readonly isBusy: () => boolean;
}

/**
 * Whether the server of one connection is alive. A connection may take `quietMsMax` to open. After
 * that, a server that owes something and sends no byte for as long is asked, and has as long to send
 * one. So a connection that falls silent ends two to three times `quietMsMax` after the last byte that
 * was read, whatever is sent meanwhile (gRFC A8).
 *
 * The question is SETTINGS without a setting, which every server must acknowledge at once (RFC 9113,
 * section 6.5.3). Servers of gRPC end connections on which they are pinged more than once in five
 * minutes while they send nothing, and Node answers its own `ping()` after a GOAWAY.
 */
export class Liveness {
  readonly #session: ClientHttp2Session;
  readonly #socket: GuardedSocket;
  readonly #isBusy: () => boolean;
  #bytesRead = 0;
  #isOpen = false;
  #isOwed = false;
  #isAsked = false;

  constructor(
    session: ClientHttp2Session,
    socket: GuardedSocket,
    { quietMsMax, isBusy }: LivenessOptions,
  ) {
    this.#session = session;
    this.#socket = socket;
    this.#isBusy = isBusy;
    // What has arrived while this process was busy is read before.
    const timer = setInterval(() => setImmediate(this.#look), quietMsMax).unref();
    session.once("remoteSettings", () => {
      this.#isOpen = true;
    });
    session.once("close", () => clearInterval(timer));
  }

  /** A call goes out. It is owed an answer even if its caller gives up before the next look. */
  owe(): void {
    this.#isOwed = true;
  }

  readonly #look = () => {
    const session = this.#session;
    if (session.destroyed) return;
    const { bytesRead } = this.#socket;
    if (!this.#isOpen) this.#socket.destroy(silent());
    else if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead;
      this.#isAsked = false;
      this.#isOwed = this.#isBusy();
    } else if (this.#isAsked) this.#socket.destroy(silent());
    else if (this.#isOwed) {
      this.#isAsked = true;
      session.settings({});
    }
  };
}

function silent(): ConnectError {
  return new ConnectError("the server does not answer", Code.Unavailable);
}
