import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { resetReason } from "../http/reset-reason.ts";
import { type Head, headError, noStatus, statusError } from "./answer.ts";
import type { CallLimit } from "./call-limit.ts";
import type { Connection } from "./connection.ts";

/** A server that reads on has taken the rest by then. Resets at once, of many calls, would look like an attack. */
const takenWithinMs = 1000;

/** One try of a call: its stream, and how it ends. A call may take several. */
export class Attempt {
  readonly stream: ClientHttp2Stream;
  readonly #connection: Connection;
  readonly #limit: CallLimit;
  #head: Head | undefined;
  #trailer: IncomingHttpHeaders | undefined;
  #cancellation: ConnectError | undefined;

  /**
   * @param connection Has a place for it.
   * @throws what Node throws for headers that are none.
   */
  constructor(connection: Connection, headers: OutgoingHttpHeaders, limit: CallLimit) {
    this.#connection = connection;
    this.#limit = limit;
    const stream = connection.open(headers);
    this.stream = stream;
    stream.on("response", (head, flags) => {
      this.#head = head;
      // A status before a body does not count: the trailers have it.
      if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.#trailer = head;
      const failure = headError(head);
      // Whatever page that is, it is not needed.
      if (failure !== undefined) this.cancel(failure);
    });
    stream.on("trailers", (trailer) => {
      this.#trailer = trailer;
    });
    limit.onEnd = (error) => this.cancel(error);
  }

  get head(): Head | undefined {
    return this.#head;
  }

  /** What came behind the messages. */
  get trailer(): IncomingHttpHeaders {
    return this.#trailer === undefined || this.#trailer === this.#head ? {} : this.#trailer;
  }

  /** Whether it is known how it ends. */
  get isDecided(): boolean {
    return this.#trailer !== undefined || this.#cancellation !== undefined;
  }

  /** Why it has failed; undefined if the server says that all is well. To be asked when it is decided. */
  get failure(): ConnectError | undefined {
    if (this.#cancellation !== undefined) return this.#cancellation;
    if (this.#trailer === undefined) return this.brokenOff;
    return statusError(this.#head ?? {}, this.#trailer);
  }

  /** The same, to be asked when its stream is over: a status behind what is lost is no success. */
  get endFailure(): ConnectError | undefined {
    return this.failure ?? (this.stream.readableEnded ? undefined : this.brokenOff);
  }

  /** Why its stream has ended before the answer has. */
  get brokenOff(): ConnectError {
    const { errored, rstCode } = this.stream;
    if (errored instanceof ConnectError) return errored;
    if (this.#connection.isLost) return lost(errored);
    const reset = resetReason(rstCode);
    // So servers of grpc-go end a call whose deadline passes.
    if (reset?.code === Code.Canceled && this.#limit.error !== undefined) return this.#limit.error;
    if (reset !== undefined) return Object.assign(reset, { cause: errored });
    if (this.isUndone) return lost(errored);
    return noStatus(this.#head ?? {});
  }

  /** Whether the server has certainly not looked at it. One that answers has, whatever it says then. */
  get isUndone(): boolean {
    return this.#head === undefined && this.#connection.hasPassedOver(this.stream);
  }

  /** Ends it at once, even if its reset cannot be sent as the server takes nothing. */
  cancel(error: ConnectError): void {
    this.#cancellation ??= error;
    this.stream.close(constants.NGHTTP2_CANCEL);
    this.stream.destroy();
  }

  /** Nobody takes more of the answer. */
  leave(): void {
    const { stream } = this;
    this.#limit.release();
    // The server need not send what nobody takes, nor take what comes behind its answer.
    if (!stream.readableEnded || !stream.writableEnded) stream.close(constants.NGHTTP2_CANCEL);
    else if (!stream.writableFinished) setTimeout(() => this.#endUntaken(), takenWithinMs).unref();
  }

  #endUntaken(): void {
    if (!this.stream.destroyed) this.stream.close(constants.NGHTTP2_CANCEL);
  }
}

function lost(cause: Error | null): ConnectError {
  return new ConnectError("the connection was lost", Code.Unavailable, undefined, undefined, cause);
}
