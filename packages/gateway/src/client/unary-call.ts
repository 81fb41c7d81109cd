import { constants, type IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { BodyBuffer } from "../http/body.ts";
import {
  type Attempt,
  brokenOff,
  type Head,
  headError,
  leaveUntaken,
  statusError,
} from "./answer.ts";
import type { CallLimit } from "./call-limit.ts";

export interface UnaryCall {
  /** The message, in its envelope. */
  readonly body: Uint8Array;
  readonly limit: CallLimit;
  /** The most bytes that the answer may have, envelope included. */
  readonly bodyBytesMax: number;
}

/** An answer that says that all is well. */
export interface WholeAnswer {
  readonly head: Head;
  readonly trailer: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/**
 * Makes one call with one message each way.
 *
 * @returns a promise that rejects with a ConnectError: an {@link AnswerError} if it is of the server.
 */
export function callUnary(
  attempt: Attempt,
  { body, limit, bodyBytesMax }: UnaryCall,
): Promise<WholeAnswer> {
  const { connection, stream } = attempt;
  return new Promise((resolve, reject) => {
    const received = new BodyBuffer();
    let head: Head | undefined;
    let trailer: IncomingHttpHeaders | undefined;
    let isSettled = false;
    const fail = (error: ConnectError) => {
      isSettled = true;
      reject(error);
    };
    const giveUp = (error: ConnectError) => {
      fail(error);
      stream.close(constants.NGHTTP2_CANCEL);
    };
    limit.onEnd = giveUp;
    stream.on("response", (fields) => {
      attempt.isAnswered = true;
      head = fields;
      const failure = headError(fields);
      if (failure !== undefined)
        giveUp(failure); // whatever page that is, it is not needed
      else if (fields["grpc-status"] !== undefined) trailer = fields;
    });
    stream.on("data", (chunk: Uint8Array) => {
      received.append(chunk);
      if (received.length > bodyBytesMax) giveUp(tooLarge(bodyBytesMax));
    });
    stream.on("trailers", (fields) => {
      trailer = fields;
    });
    stream.on("end", () => {
      if (head === undefined || trailer === undefined) {
        // Its close tells why, unless the server has ended it and does not read the request.
        if (!stream.closed) giveUp(brokenOff(connection, stream, { head, limit }));
        return;
      }
      leaveUntaken(stream);
      const failure = statusError(head, trailer);
      if (failure !== undefined) return fail(failure);
      isSettled = true;
      resolve({ head, trailer, body: received.bytes });
    });
    stream.on("close", () => {
      if (!isSettled) fail(brokenOff(connection, stream, { head, limit }));
    });
    stream.end(body);
  });
}

function tooLarge(bytesMax: number): ConnectError {
  const message = `the answer is larger than ${bytesMax} bytes`;
  return new ConnectError(message, Code.ResourceExhausted);
}
