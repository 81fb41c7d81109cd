import type { IncomingHttpHeaders } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { messageTooLarge } from "../codec/codec.ts";
import { BodyBuffer } from "../http/body.ts";
import type { Holding } from "../http/body-budget.ts";
import type { Head } from "./answer.ts";
import type { Attempt } from "./attempt.ts";

export interface UnaryCall {
  /** The message in its envelope. */
  readonly body: Uint8Array;
  /** The largest message that the answer may have, in bytes. */
  readonly readMaxBytes: number;
  /** Counts the bytes of the answer. */
  readonly holding?: Holding | undefined;
}

/** A successful answer. */
export interface WholeAnswer {
  readonly head: Head;
  readonly trailer: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/**
 * Makes one call with one message each way.
 *
 * @returns a promise that rejects with a ConnectError: an {@link AnswerError} if the server sent it.
 */
export function callUnary(
  attempt: Attempt,
  { body, readMaxBytes, holding }: UnaryCall,
): Promise<WholeAnswer> {
  const { stream } = attempt;
  return new Promise((resolve, reject) => {
    const received = new BodyBuffer();
    const settle = () => {
      const { endFailure, head = {}, trailer } = attempt;
      if (endFailure === undefined) resolve({ head, trailer, body: received.bytes });
      else reject(endFailure);
    };
    // Listen only now: data that arrived with the head is emitted before it.
    stream.on("response", () =>
      stream.on("data", (chunk: Uint8Array) => {
        received.append(chunk);
        if (received.length > envelopeHeadBytes + readMaxBytes) {
          attempt.cancel(messageTooLarge(readMaxBytes));
        } else if (holding !== undefined) hold(chunk, { attempt, holding });
      }),
    );
    stream.on("end", () => {
      if (attempt.isDecided) {
        settle();
        attempt.leave();
      } else if (!stream.closed) attempt.cancel(attempt.brokenOff);
    });
    stream.on("close", settle);
    stream.end(body);
  });
}

const envelopeHeadBytes = 5;

/** Pauses reading until there is room for more. */
function hold(chunk: Uint8Array, { attempt, holding }: { attempt: Attempt; holding: Holding }) {
  const { stream } = attempt;
  try {
    const room = holding.add(chunk.byteLength);
    if (room === undefined) return;
    stream.pause();
    room.then(
      () => stream.resume(),
      (error: ConnectError) => attempt.cancel(error),
    );
  } catch (error) {
    attempt.cancel(error as ConnectError);
  }
}
