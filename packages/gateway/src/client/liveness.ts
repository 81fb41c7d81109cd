import type { ClientHttp2Session } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GuardedSocket } from "./guarded-socket.ts";

export interface LivenessOptions {
  readonly quietMsMax: number;
  /** Whether a call is in progress. */
  readonly isBusy: () => boolean;
}

/**
 * Checks whether the server of one connection is alive. A connection may take `quietMsMax` to open.
 * Then a server that owes an answer and sends no byte for that long is asked, and has as long again to
 * send one. So a silent connection ends two to three times `quietMsMax` after the last byte that was
 * read, whatever is sent meanwhile (gRFC A8).
 *
 * It asks with an empty SETTINGS frame, which every server must acknowledge at once (RFC 9113, section
 * 6.5.3). A ping will not do: gRPC servers end connections with more than one ping in five minutes
 * while they send nothing, and Node answers its own `ping()` after a GOAWAY.
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
    // First read what has arrived while this process was busy.
    const timer = setInterval(() => setImmediate(this.#look), quietMsMax).unref();
    session.once("remoteSettings", () => {
      this.#isOpen = true;
    });
    session.once("close", () => clearInterval(timer));
  }

  /** Call when a call is sent. It is owed an answer even if its caller cancels before the next look. */
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
