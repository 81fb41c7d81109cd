import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { resetReason } from "../http/reset-reason.ts";
import { type Head, headError, noStatus, statusError } from "./answer.ts";
import type { CallDeadline } from "./call-deadline.ts";
import type { Connection } from "./connection.ts";

/** A server that keeps reading has read the rest by then. Many resets at once would look like an attack. */
const takenWithinMs = 1000;

/** One attempt of a call: its stream, and how it ends. */
export class Attempt {
  readonly stream: ClientHttp2Stream;
  readonly #connection: Connection;
  readonly #deadline: CallDeadline;
  #head: Head | undefined;
  #trailer: IncomingHttpHeaders | undefined;
  #cancellation: ConnectError | undefined;

  /**
   * @param connection With a reserved place.
   * @throws Node's error for invalid headers.
   */
  constructor(connection: Connection, headers: OutgoingHttpHeaders, deadline: CallDeadline) {
    this.#connection = connection;
    this.#deadline = deadline;
    const stream = connection.open(headers);
    this.stream = stream;
    stream.on("response", (head, flags) => {
      this.#head = head;
      // A status before a body does not count: that of the trailers does.
      if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.#trailer = head;
      const failure = headError(head);
      // The body of another answer is not needed.
      if (failure !== undefined) this.cancel(failure);
    });
    stream.on("trailers", (trailer) => {
      this.#trailer = trailer;
    });
    deadline.onEnd = (error) => this.cancel(error);
  }

  get head(): Head | undefined {
    return this.#head;
  }

  /** The fields after the messages. */
  get trailer(): IncomingHttpHeaders {
    return this.#trailer === undefined || this.#trailer === this.#head ? {} : this.#trailer;
  }

  /** Whether its outcome is known. */
  get isDecided(): boolean {
    return this.#trailer !== undefined || this.#cancellation !== undefined;
  }

  /** Why it has failed; undefined for success. Valid once it is decided. */
  get failure(): ConnectError | undefined {
    if (this.#cancellation !== undefined) return this.#cancellation;
    if (this.#trailer === undefined) return this.brokenOff;
    return statusError(this.#head ?? {}, this.#trailer);
  }

  /** The same once its stream has ended: a status after lost data is no success. */
  get endFailure(): ConnectError | undefined {
    return this.failure ?? (this.stream.readableEnded ? undefined : this.brokenOff);
  }

  /** Why its stream has ended before the answer. */
  get brokenOff(): ConnectError {
    const { errored, rstCode } = this.stream;
    if (errored instanceof ConnectError) return errored;
    if (this.#connection.isLost) return lost(errored);
    const reset = resetReason(rstCode);
    // grpc-go resets a call whose deadline passes with CANCEL.
    if (reset?.code === Code.Canceled && this.#deadline.error !== undefined)
      return this.#deadline.error;
    if (reset !== undefined) return Object.assign(reset, { cause: errored });
    if (this.isUndone) return lost(errored);
    return noStatus(this.#head ?? {});
  }

  /** Whether the server has certainly not processed it. A server that answers has. */
  get isUndone(): boolean {
    return this.#head === undefined && this.#connection.hasPassedOver(this.stream);
  }

  /** Ends it at once, even if the reset cannot be sent because the server reads nothing. */
  cancel(error: ConnectError): void {
    this.#cancellation ??= error;
    this.stream.close(constants.NGHTTP2_CANCEL);
    this.stream.destroy();
  }

  /** Nobody reads more of the answer. */
  leave(): void {
    const { stream } = this;
    this.#deadline.release();
    // The server need not send what nobody reads, nor read what comes after its answer.
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
