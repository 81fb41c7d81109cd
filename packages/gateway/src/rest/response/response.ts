/** Outcome -> HTTP. */
import type { OutgoingHttpHeaders } from "node:http";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { Code, type HandlerContext } from "@connectrpc/connect";
import {
  mergeNonProtocolHeaders,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { trailerMux } from "@connectrpc/connect/protocol-connect";
import type { HttpBody } from "../../../gen/google/api/httpbody_pb.ts";
import type { StreamContext } from "../../rpc/call.ts";
import { endingError, reportUnexpected } from "../../rpc/unexpected.ts";
import { type Body, byteLengthOf, bytesOf } from "../../http/body.ts";
import type { Response } from "../../http/exchange.ts";
import { toNodeHeaders } from "../../http/headers.ts";
import { headerWithTrailer } from "../../rpc/trailer-header.ts";
import { RestFailure, restErrorFrom, retryAfterSeconds } from "../error.ts";
import type { RestSettings } from "../options.ts";
import { messageText } from "../request/message-text.ts";
import type { Route } from "../routing/route.ts";
import { chooseStreamFormat, type StreamFormat } from "../stream/stream-format.ts";
import { chooseCoding } from "./answer-coding.ts";
import { isKnown } from "./entity-tag.ts";
import { getHttpBody, isHttpBody } from "./http-body.ts";
import { isBodiless } from "./success-status.ts";

type Message = MessageShape<DescMessage>;

type ResponseContext = Pick<
  HandlerContext,
  "requestMethod" | "requestHeader" | "responseHeader" | "responseTrailer"
>;

const jsonType = "application/json";

const utf8 = new TextEncoder();

/** The response of a stream, as it is written. */
export type StreamResponse = UniversalServerResponse & {
  readonly body: AsyncIterable<Uint8Array>;
};

/** One message on the wire. */
interface Content {
  /** Empty for a google.api.HttpBody without one. */
  readonly contentType: string;
  readonly data: Body;
}

/**
 * The response for one message. Clients do not look at HTTP trailers, so trailers become headers
 * that begin with `trailer-`, as in Connect.
 *
 * @throws {RestFailure} 500 above `writeMaxBytes`.
 */
export function messageResponse(
  route: Route,
  message: Message,
  context: ResponseContext,
): Response | Promise<Response> {
  const { options, settings, status } = route;
  if (isBodiless(status)) return bodilessResponse(status, context);
  const { contentType, data } = contentOf(route, message);
  const size = byteLengthOf(data);
  if (size > options.writeMaxBytes) {
    // The code is that of connect-node, but not its status, 429. That would tell clients to retry,
    // only for the implementation to create the same answer again. The error is the server's, and
    // is permanent.
    const reason = `the answer is larger than writeMaxBytes, ${options.writeMaxBytes}`;
    throw new RestFailure(500, Code.ResourceExhausted, reason);
  }
  // Our own type needs no check. The type of a google.api.HttpBody may not even be a valid header.
  const isJson = contentType === jsonType;
  if (!isJson && contentType !== "") context.responseHeader.set("content-type", contentType);
  const own = headerWithTrailer(context);
  const header = isJson ? { ...own, "content-type": jsonType } : { ...own };
  // If the implementation has already compressed the body, decoding another coding would leave it
  // compressed.
  const isPacked = header["content-encoding"] !== undefined;
  const isLarge = size >= options.compressMinBytes && !isPacked;
  if (settings.etag && isKnown(context, header, data)) return notModified(header, isLarge);
  if (isLarge) return compressedResponse({ route, header, data, context });
  header["content-length"] = size;
  return { status, header, body: data };
}

/** RFC 9110 section 15.4.5: all headers of the answer except those that describe its body. */
function notModified(header: OutgoingHttpHeaders, isLarge: boolean): Response {
  if (isLarge) varyByCoding(header);
  const { "content-type": _type, "content-length": _length, ...rest } = header;
  return { status: 304, header: rest, body: "" };
}

/** Removes the implementation's headers about a body, because there is none. */
function bodilessResponse(status: number, context: ResponseContext): Response {
  const {
    "content-type": _type,
    "content-length": _length,
    ...header
  } = headerWithTrailer(context) as OutgoingHttpHeaders;
  // RFC 9110 section 8.6: Content-Length is not allowed with 204.
  return { status, header: status === 204 ? header : { ...header, "content-length": 0 }, body: "" };
}

interface Compressible {
  readonly route: Pick<Route, "answerCodings" | "status">;
  readonly header: OutgoingHttpHeaders;
  readonly data: Body;
  readonly context: ResponseContext;
}

async function compressedResponse(answer: Compressible): Promise<Response> {
  const { route, header, data, context } = answer;
  const { answerCodings, status } = route;
  varyByCoding(header);
  const coding = chooseCoding(context.requestHeader.get("accept-encoding"), answerCodings);
  if (coding !== undefined) header["content-encoding"] = coding.name;
  const body = coding === undefined ? data : await coding.compress(bytesOf(data));
  header["content-length"] = byteLengthOf(body);
  return { status, header, body };
}

function varyByCoding(header: OutgoingHttpHeaders): void {
  const vary = header["vary"];
  header["vary"] = vary === undefined ? "accept-encoding" : `${vary}, accept-encoding`;
}

/**
 * The response for a stream. Waits for the first message, so that an error before it still gets a
 * status. A later error is the last item in the body.
 *
 * @throws the error that precedes the first message.
 */
export async function streamResponse(
  route: Route,
  messages: AsyncIterable<Message>,
  context: ResponseContext & Pick<StreamContext, "abort" | "signal">,
): Promise<StreamResponse> {
  const { status } = route;
  const iterator = messages[Symbol.asyncIterator]();
  const first = await iterator.next();
  const all = resume(first, iterator);
  const { requestHeader, responseHeader: header, responseTrailer: trailer } = context;
  if (isHttpBodyRoute(route)) {
    const contentType = first.done === true ? "" : httpBodyOf(route, first.value).contentType;
    if (contentType !== "") header.set("content-type", contentType);
    return { status, header, trailer, body: writeChunks(route, all) };
  }
  const format = chooseStreamFormat(requestHeader.get("accept"), route.settings.streamFormat);
  header.set("content-type", format.contentType);
  return { status, header, trailer, body: writeMessages(route, all, format, context) };
}

/** The response for an error. */
export function errorResponse(
  reason: unknown,
  settings: Pick<RestSettings, "renderError">,
  context?: ResponseContext,
): Response {
  const restError = restErrorFrom(reason);
  const { status, body, contentType = jsonType } = settings.renderError(restError);
  const header = context
    ? trailerMux(context.responseHeader, context.responseTrailer)
    : new Headers();
  // If another service answered with this error, its headers are not ours to forward.
  if (!restError.error.isWireError) mergeNonProtocolHeaders(header, restError.error.metadata);
  if (reason instanceof RestFailure) {
    for (const [name, value] of Object.entries(reason.header)) header.set(name, value);
  }
  const retryAfter = retryAfterSeconds(restError.error);
  if ((retryAfter !== undefined || status === 503) && !header.has("retry-after")) {
    header.set("retry-after", String(retryAfter ?? 1));
  }
  header.set("content-type", contentType);
  const text = JSON.stringify(body);
  header.set("content-length", String(byteLengthOf(text)));
  return { status, header: toNodeHeaders(header), body: text, code: restError.error.code };
}

function isHttpBodyRoute({ spec, binding }: Route): boolean {
  return isHttpBody(spec.method.output, binding.responseBody);
}

function httpBodyOf({ spec, binding }: Route, message: Message): HttpBody {
  return getHttpBody(spec.method.output, message, binding.responseBody);
}

async function* writeMessages(
  route: Route,
  messages: AsyncIterable<Message>,
  format: StreamFormat,
  { abort, signal }: Pick<StreamContext, "abort" | "signal">,
): AsyncGenerator<Uint8Array> {
  let index = 0;
  let prefix = format.open;
  let isWriting = false;
  try {
    for await (const message of messages) {
      const text = format.message(messageText(route, message), index++);
      isWriting = true;
      yield utf8.encode(prefix + text);
      isWriting = false;
      prefix = "";
    }
  } catch (error) {
    // The error of a write to a client that has left also ends here.
    if (!isWriting) reportUnexpected(error, route.options, signal);
    const ending = endingError(error, signal);
    abort(ending);
    const { body } = route.settings.renderError(restErrorFrom(ending));
    prefix += format.error(JSON.stringify(body), index);
  }
  yield utf8.encode(prefix + format.close);
}

async function* writeChunks(route: Route, messages: AsyncIterable<Message>) {
  for await (const message of messages) yield httpBodyOf(route, message).data;
}

/** Continues an iterator from a result that was already taken from it. */
async function* resume(
  first: IteratorResult<Message>,
  iterator: AsyncIterator<Message>,
): AsyncGenerator<Message> {
  try {
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

function contentOf(route: Route, message: Message): Content {
  if (isHttpBodyRoute(route)) return httpBodyOf(route, message);
  return { contentType: jsonType, data: messageText(route, message) };
}
