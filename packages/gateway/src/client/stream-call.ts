import { once } from "node:events";
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { LazyHeaders } from "../http/headers.ts";
import {
  type Attempt,
  brokenOff,
  type Head,
  headError,
  leaveUntaken,
  statusError,
} from "./answer.ts";
import type { CallLimit } from "./call-limit.ts";
import type { Connection } from "./connection.ts";

/**
 * One call with streams of messages, in envelopes. It takes no more of the answer than is asked for, and
 * sends no more than the server takes.
 */
export class StreamCall {
  /** The head of the answer; rejects with a ConnectError if there is none, or if it is an error. */
  readonly head: Promise<Head>;
  /** Filled when the last chunk was taken. */
  readonly trailer: LazyHeaders = new LazyHeaders({});
  readonly #connection: Connection;
  readonly #stream: ClientHttp2Stream;
  readonly #limit: CallLimit;
  #head: Head | undefined;
  #trailer: IncomingHttpHeaders | undefined;
  #failure: ConnectError | undefined;

  constructor(attempt: Attempt, limit: CallLimit) {
    const { connection, stream } = attempt;
    this.#connection = connection;
    this.#stream = stream;
    this.#limit = limit;
    this.head = new Promise((resolve, reject) => {
      stream.on("response", (head) => {
        attempt.isAnswered = true;
        this.#head = head;
        if (head["grpc-status"] !== undefined) this.#trailer = head;
        const failure =
          headError(head) ?? (this.#trailer === undefined ? undefined : statusError(head, head));
        if (failure === undefined) return resolve(head);
        reject(failure);
        this.cancel(failure);
      });
      stream.on("close", () => {
        if (this.#head === undefined) reject(this.#failureNow());
      });
    });
    this.head.catch(() => {}); // nobody may come to wait for it
    stream.on("trailers", (trailer) => {
      this.#trailer = trailer;
    });
    limit.onEnd = (error) => this.cancel(error);
  }

  /** Sends what comes, until the server has had enough. What it throws ends the call. */
  async send(bodies: AsyncIterable<Uint8Array>): Promise<void> {
    const stream = this.#stream;
    const iterator = bodies[Symbol.asyncIterator]();
    // It may wait for its next message, when nobody does any more.
    const leave = () => void iterator.return?.()?.catch(() => {});
    stream.once("close", leave);
    try {
      for (;;) {
        const next = await iterator.next();
        if (stream.destroyed || next.done === true) break;
        if (!stream.write(next.value)) await takenOrClosed(stream);
      }
      stream.end();
    } catch (error) {
      this.cancel(error as ConnectError);
    }
  }

  /** The body of the answer, as it comes. */
  async *receive(): AsyncGenerator<Uint8Array> {
    const stream = this.#stream;
    try {
      yield* stream.iterator({ destroyOnReturn: false });
    } catch {
      throw this.#failureNow();
    } finally {
      this.#limit.release();
      // The server need not send what nobody takes, nor take what comes behind its answer.
      if (!stream.readableEnded || !stream.writableEnded) stream.close(constants.NGHTTP2_CANCEL);
      else leaveUntaken(stream);
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#head === undefined || this.#trailer === undefined) throw this.#failureNow();
    const failure = statusError(this.#head, this.#trailer);
    if (failure !== undefined) throw failure;
    if (this.#trailer !== this.#head) this.trailer.replace(new LazyHeaders(this.#trailer));
  }

  /** Ends the call, with an error for whoever takes its answer. */
  cancel(error: ConnectError): void {
    this.#failure ??= error;
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  #failureNow(): ConnectError {
    const call = { head: this.#head, limit: this.#limit };
    return this.#failure ?? brokenOff(this.#connection, this.#stream, call);
  }
}

/** Resolves when a stream takes more, or never will. */
async function takenOrClosed(stream: ClientHttp2Stream): Promise<void> {
  const settled = new AbortController();
  const events = ["drain", "close"].map((event) => once(stream, event, { signal: settled.signal }));
  for (const one of events) one.catch(() => {});
  await Promise.race(events).finally(() => settled.abort());
}
