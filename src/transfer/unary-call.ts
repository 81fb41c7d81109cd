import {
  type ClientHttp2Session,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromHttpStatus, findTrailerError } from "@connectrpc/connect/protocol-grpc";

export interface UnaryCall {
  readonly headers: OutgoingHttpHeaders;
  /** The message, in its envelope. */
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

/**
 * Makes one unary call of gRPC. It resolves when the server says that all is
 * well; the message of the answer is passed over.
 *
 * @throws {ConnectError} With the server's headers and trailers if it is of the
 * server, and with none if it is of the connection.
 */
export function callUnary(
  session: ClientHttp2Session,
  { headers, body, timeoutMs }: UnaryCall,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers);
    let head: Head = {};
    let isEnded = false;
    const fail = (error: ConnectError) => {
      isEnded = true;
      reject(error);
    };
    const end = (fields: IncomingHttpHeaders) => {
      if (fields["grpc-status"] !== "0") return fail(errorOf(head, fields));
      isEnded = true;
      resolve();
    };
    const timer = setTimeout(() => {
      fail(new ConnectError("no answer in time", Code.DeadlineExceeded));
      stream.close(constants.NGHTTP2_CANCEL);
    }, timeoutMs);
    stream.on("response", (fields) => {
      head = fields;
      if (!isGrpc(fields)) {
        fail(httpError(fields));
        // Whatever page that is, it is not needed.
        stream.close(constants.NGHTTP2_CANCEL);
      } else if (fields["grpc-status"] !== undefined) {
        end(fields);
      }
    });
    stream.on("trailers", end);
    stream.on("error", (error: NodeJS.ErrnoException) => {
      fail(ConnectError.from(error, Code.Unavailable));
      // After 2^30 calls there is no number for another stream (RFC 9113, section 5.1.1).
      if (error.code === "ERR_HTTP2_OUT_OF_STREAMS") session.close();
    });
    stream.on("close", () => {
      clearTimeout(timer);
      if (!isEnded) fail(endedEarly(head));
    });
    stream.resume();
    stream.end(body);
  });
}

function isGrpc(head: Head): boolean {
  return head[":status"] === 200 && /^application\/grpc(?:$|[+;])/.test(head["content-type"] ?? "");
}

function httpError(head: Head): ConnectError {
  const { ":status": status = 0, "content-type": type = "no content type" } = head;
  const message = `HTTP status ${status} with ${type}, which is not gRPC`;
  return new ConnectError(message, codeFromHttpStatus(status), headersOf(head));
}

function errorOf(head: Head, fields: IncomingHttpHeaders): ConnectError {
  const headers = headersOf({ ...head, ...fields });
  const status = headers.get("grpc-status");
  const unreadable = `an answer without a gRPC status that can be read (${status ?? "none"})`;
  try {
    return findTrailerError(headers) ?? new ConnectError(unreadable, Code.Unknown, headers);
  } catch (cause) {
    return new ConnectError(unreadable, Code.Unknown, headers, undefined, cause);
  }
}

function headersOf(fields: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith(":")) continue;
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  return headers;
}

function endedEarly(head: Head): ConnectError {
  const isAnswered = head[":status"] !== undefined;
  const what = isAnswered ? "the answer ended without a gRPC status" : "the connection was lost";
  return new ConnectError(what, Code.Unavailable);
}
