import http2 from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { messageTooLarge } from "../codec/codec.ts";
import type { Holding } from "../http/body-budget.ts";
import { LazyHeaders } from "../http/headers.ts";
import { resetReason } from "../http/session.ts";
import { isUnread, pauseUntil, piecesMax, readChunks } from "../http/windows.ts";
import { EnvelopeSplitter, headBytes } from "../rpc/envelope.ts";
import { type Head, headError, noStatus, statusError } from "./answer.ts";
import type { CallDeadline } from "./call-deadline.ts";
import { type Connection, connectionError } from "./connection.ts";
import type { Messages } from "./messages.ts";

/** A server that keeps reading has read the rest by then. Many resets at once would look like an attack. */
const takenWithinMs = 1000;

/** One attempt of a call: its stream, and how it ends. */
export class Attempt {
  readonly stream: http2.ClientHttp2Stream;
  readonly #connection: Connection;
  readonly #deadline: CallDeadline;
  head: Head | undefined;
  /** Also the head of an answer that is nothing else. */
  trailer: http2.IncomingHttpHeaders | undefined;
  #cancellation: ConnectError | undefined;
  #isLeft = false;
  #isLost: boolean | undefined; // when its stream ended: what came before may be read later

  /** @param connection With a reserved place. @throws Node's error for invalid headers. */
  constructor(connection: Connection, headers: http2.OutgoingHttpHeaders, deadline: CallDeadline) {
    this.#connection = connection;
    this.#deadline = deadline;
    const stream = connection.open(headers);
    this.stream = stream;
    const destroy = stream.destroy.bind(stream);
    // A reset takes nothing from what came before it, as in grpc-go and grpc-java. Armeria sends one behind
    // the whole answer where requests go on. Node would discard what is unread, unless its code is NO_ERROR.
    stream.destroy = (error) => {
      this.#isLost ??= connection.isLost;
      if (error !== undefined || stream.rstCode === 0 || this.#isLeft) return destroy(error);
      if (stream.readableLength > 0) stream.push(null);
      // Before others hear of the end, who look for the error.
      return isUnread(stream) ? stream.prependOnceListener("end", () => destroy()) : destroy();
    };
    stream.on("response", (head, flags) => {
      this.head = head;
      connection.hasAnswered = true;
      // A status before a body does not count: that of the trailers does.
      if ((flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.trailer = head;
      const failure = headError(head);
      // The body of another answer is not needed.
      if (failure !== undefined) this.cancel(failure);
    });
    stream.on("trailers", (trailer) => (this.trailer = trailer));
    deadline.onEnd = (error) => this.cancel(error);
  }

  get isDecided(): boolean {
    return this.trailer !== undefined || this.#cancellation !== undefined;
  }

  /** Why it has failed; undefined for success. Valid once it is decided. */
  get failure(): ConnectError | undefined {
    if (this.#cancellation !== undefined) return this.#cancellation;
    if (this.trailer === undefined) return this.brokenOff;
    return statusError(this.head ?? {}, this.trailer);
  }

  /** The same once its stream has ended: a status after lost data is no success. */
  get endFailure(): ConnectError | undefined {
    return this.failure ?? (this.stream.readableEnded ? undefined : this.brokenOff);
  }

  /** Why its stream has ended before the answer. */
  get brokenOff(): ConnectError {
    const { errored, rstCode } = this.stream;
    if (errored instanceof ConnectError) return connectionError(errored);
    if (this.#isLost) return lost(errored);
    // Servers reset a call whose deadline passes.
    if (this.#deadline.error !== undefined) return this.#deadline.error;
    // Node could not send it.
    if (this.isUndone && rstCode !== http2.constants.NGHTTP2_REFUSED_STREAM) return lost(errored);
    const reset = resetReason(rstCode);
    if (reset !== undefined) return Object.assign(reset, { cause: errored });
    return noStatus(this.head ?? {});
  }

  /** Whether the server has certainly not processed it. A server that answers has. */
  get isUndone(): boolean {
    return this.head === undefined && this.#connection.hasPassedOver(this.stream);
  }

  /** Ends it at once, even if the reset cannot be sent because the server reads nothing. */
  cancel(error: ConnectError): void {
    this.#cancellation ??= error;
    this.#isLeft = true;
    reset(this.stream);
    this.stream.destroy();
  }

  leave(): void {
    const { stream } = this;
    this.#isLeft = true;
    this.#deadline.release();
    // Nothing is left to reset, but Node waits until everything is read.
    if (stream.closed && !stream.readableEnded) stream.destroy();
    // The server need not send unread data, or read data after its answer.
    else if (!stream.readableEnded || !stream.writableEnded) reset(stream);
    else if (!stream.writableFinished) {
      setTimeout(() => stream.destroyed || reset(stream), takenWithinMs).unref();
    }
  }
}

/** Node would end the request before the reset, and a server would take what it got for whole. */
function reset(stream: http2.ClientHttp2Stream): void {
  stream._final = (done) => done();
  stream.close(http2.constants.NGHTTP2_CANCEL);
}

function lost(cause: Error | null): ConnectError {
  return new ConnectError("the connection was lost", Code.Unavailable, undefined, undefined, cause);
}

type UnaryAnswer = { head: Head; trailer: http2.IncomingHttpHeaders; body: Uint8Array };

/** Makes a call with one message each way. @throws {ConnectError} an AnswerError if the server sent it. */
export function callUnary(
  attempt: Attempt,
  body: Uint8Array,
  readMaxBytes: number,
  holding?: Holding,
): Promise<UnaryAnswer> {
  const { stream } = attempt;
  const answer = new Promise<UnaryAnswer>((resolve, reject) => {
    const received = new EnvelopeSplitter(readMaxBytes, holding);
    const settle = () => {
      const { endFailure, head = {}, trailer = {} } = attempt;
      if (endFailure === undefined) resolve({ head, trailer, body: received.bytes });
      else reject(endFailure);
    };
    // Listen only now: data that arrived with the head is emitted before it.
    stream.on("response", () =>
      stream.on("data", (chunk: Uint8Array) => {
        try {
          if (received.length + chunk.length > headBytes + readMaxBytes) {
            throw messageTooLarge(readMaxBytes);
          }
          const room = received.push(chunk);
          if (room !== undefined) void pauseUntil(stream, room, (error) => attempt.cancel(error));
        } catch (error) {
          attempt.cancel(error as ConnectError);
        }
      }),
    );
    stream.on("end", () => {
      settle();
      attempt.leave();
    });
    stream.on("close", settle);
  });
  // Not in the listeners, or they would keep it for as long as they are kept.
  stream.end(body);
  return answer;
}

/** The head of a streaming call's answer. Rejects with a ConnectError if it is none, or an error. */
export function callStream(attempt: Attempt, messages: Messages) {
  const { stream } = attempt;
  const answer = new Promise<{ attempt: Attempt; head: Head }>((resolve, reject) => {
    stream.on("response", (head) => {
      const failure = attempt.isDecided ? attempt.failure : undefined;
      if (failure === undefined) resolve({ attempt, head: attempt.isDecided ? {} : head });
      else attempt.cancel(failure);
    });
    stream.on("close", () => reject(attempt.failure));
  });
  void sendAll(attempt, messages);
  return answer;
}

/** Sends messages as fast as the server reads them, few ahead: each takes memory. Their error ends the call. */
export async function sendAll(attempt: Attempt, messages: Messages): Promise<void> {
  const { stream } = attempt;
  // They may still wait for the next message, which another attempt may send.
  stream.once("close", () => attempt.isUndone || messages.end());
  let wake = () => {};
  for (const event of ["drain", "close"]) stream.on(event, () => wake());
  try {
    // A write after a reset would be an error, without the end of an answer that is there.
    for (let i = 0; !stream.closed; i++) {
      const next = await messages.take(i);
      if (stream.closed || next.done === true) break;
      const tell = (i + 1) % piecesMax === 0 ? () => wake() : undefined;
      if (!stream.write(next.value, tell) || tell) await new Promise<void>((done) => (wake = done));
    }
    stream.end();
  } catch (error) {
    attempt.cancel(error as ConnectError);
  }
}

/** The body of the answer, read as fast as the caller asks for it. @param trailer Filled at its end. */
export async function* receive(attempt: Attempt, trailer: LazyHeaders): AsyncGenerator<Uint8Array> {
  try {
    yield* readChunks(attempt.stream);
    const { endFailure } = attempt; // that of the server: to leave it may reset the stream
    if (endFailure !== undefined) throw endFailure;
  } finally {
    attempt.leave();
  }
  trailer.replace(new LazyHeaders(attempt.trailer ?? {}));
}
