import { once } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { LazyHeaders } from "../http/headers.ts";
import type { Head } from "./answer.ts";
import type { Attempt } from "./attempt.ts";

/**
 * One streaming call. It reads no more of the answer than its caller asks for, and sends no more than the
 * server reads.
 */
export class StreamCall {
  /** The head of the answer; rejects with a ConnectError if there is none, or if it is an error. */
  readonly head: Promise<Head>;
  /** Filled after the last chunk. */
  readonly trailer: LazyHeaders = new LazyHeaders({});
  readonly #attempt: Attempt;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
    const { stream } = attempt;
    this.head = new Promise((resolve, reject) => {
      stream.on("response", (head) => {
        const failure = attempt.isDecided ? attempt.failure : undefined;
        if (failure === undefined) return resolve(head);
        reject(failure);
        attempt.cancel(failure);
      });
      stream.on("close", () => reject(attempt.failure));
    });
    this.head.catch(() => {}); // maybe nobody waits for it
  }

  /** Sends messages until the server closes the stream. An error of theirs ends the call. */
  async send(bodies: AsyncIterable<Uint8Array>): Promise<void> {
    const { stream } = this.#attempt;
    const iterator = bodies[Symbol.asyncIterator]();
    // The iterator may still wait for its next message.
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
      this.#attempt.cancel(error as ConnectError);
    }
  }

  /** The body of the answer as it arrives. */
  async *receive(): AsyncGenerator<Uint8Array> {
    const attempt = this.#attempt;
    const { stream } = attempt;
    let wake = () => {};
    // Node's iterator reports a stream that the server has closed as cut off.
    for (const event of ["readable", "end", "close"]) stream.on(event, () => wake());
    try {
      while (!stream.readableEnded && !stream.destroyed) {
        const chunk: Uint8Array | null = stream.read();
        if (chunk !== null) yield chunk;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      attempt.leave();
    }
    const { endFailure } = attempt;
    if (endFailure !== undefined) throw endFailure;
    this.trailer.replace(new LazyHeaders(attempt.trailer));
  }
}

/** Resolves when a stream takes more, or has closed. */
async function takenOrClosed(stream: ClientHttp2Stream): Promise<void> {
  const settled = new AbortController();
  const events = ["drain", "close"].map((event) => once(stream, event, { signal: settled.signal }));
  for (const one of events) one.catch(() => {});
  await Promise.race(events).finally(() => settled.abort());
}
