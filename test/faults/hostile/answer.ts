import type { HttpResponse, HttpVersion } from "../../../packages/gateway/test/support/exchange.ts";
import { type Frame, framesIn, frameType } from "../../../packages/gateway/test/support/frames.ts";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";

/** An answer from an attacker's point of view. */
export type Answer = "accepted" | "refused" | "unauthenticated" | "overloaded" | "failed";

/** The gRPC codes of server errors. */
const failures = [2, 13, 15];

/** Classifies a response read by an HTTP client. */
export function answerOf({ status, headers, trailers, body }: HttpResponse): Answer {
  if (status === 503) return "overloaded";
  // UNIMPLEMENTED: an unsupported coding, or number of messages in Connect.
  if (status === 501 && /"unimplemented"|Transfer-Encoding must be/.test(`${body}`))
    return "refused";
  if (status >= 500) return "failed";
  if (status === 401) return "unauthenticated";
  if (status !== 200) return "refused";
  const inBody = /grpc-status: ?(\d+)/.exec(body.toString("latin1"))?.[1];
  const code = headers.get("grpc-status") ?? trailers.get("grpc-status") ?? inBody;
  const isGrpc = headers.get("content-type")?.startsWith("application/grpc") === true;
  if (!isGrpc) return "accepted";
  if (code === "16") return "unauthenticated";
  if (code === "14") return "overloaded";
  if (code === undefined || failures.includes(Number(code))) return "failed";
  return code === "0" ? "accepted" : "refused";
}

/** All answers in what a connection has received. */
export function answersIn(received: Buffer, version: HttpVersion): Answer[] {
  if (version === "2") return http2Answers(framesIn(received));
  const responses = parseHttp1Responses(received).filter(({ status }) => status >= 200);
  return responses.map(({ status, headers: fields, body: text }) => {
    const headers = new Headers([...fields]);
    return answerOf({ status, headers, trailers: headers, body: Buffer.from(text, "latin1") });
  });
}

function http2Answers(frames: readonly Frame[]): Answer[] {
  const heads = frames.filter(({ type }) => type === frameType.headers);
  const byStream = Map.groupBy(heads, ({ streamId }) => streamId);
  return [...byStream].map(([streamId, [head]]): Answer => {
    const digit = firstDigit(head?.payload ?? Buffer.alloc(0));
    if (digit === 5) return "failed";
    return digit === 2 && !isTrailersOnly(frames, streamId) ? "accepted" : "refused";
  });
}

/** A gRPC or gRPC-Web answer without a message: its status is 200 even for an error. */
function isTrailersOnly(frames: readonly Frame[], streamId: number): boolean {
  const data = frames.filter((one) => one.type === frameType.data && one.streamId === streamId);
  const body = Buffer.concat(data.map(({ payload }) => payload));
  return body.length === 0 || ((body[0] ?? 0) & 0x80) !== 0;
}

/**
 * The first digit of the status, which is the first field of a block (RFC 7541, sections 6 and
 * C.6).
 */
function firstDigit(block: Buffer): number {
  const at = (block[0] ?? 0) >> 5 === 1 ? 1 : 0; // after a change of the table's size
  const first = block[at] ?? 0;
  // In the static table: 200, 204, 206, 304, 400, 404, 500.
  if ((first & 0x80) !== 0) return [2, 2, 2, 3, 4, 4, 5][(first & 0x7f) - 8] ?? 0;
  const [length = 0, value = 0] = block.subarray(at + 1);
  if ((length & 0x80) === 0) return value - 0x30;
  // Huffman: 0, 1 and 2 have five bits, the others six.
  return value >> 3 <= 2 ? value >> 3 : (value >> 2) - 0b011001 + 3;
}
