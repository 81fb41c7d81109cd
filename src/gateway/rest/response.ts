/** Outcome -> HTTP. */
import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  createAsyncIterable,
  mergeNonProtocolHeaders,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { trailerMux } from "@connectrpc/connect/protocol-connect";
import type { HttpBody } from "../../../gen/google/api/httpbody_pb.ts";
import type { CallContext } from "../call.ts";
import { isJsonObject } from "../json-text.ts";
import { type JsonWriterOptions, messageToJson } from "../json-writer.ts";
import { RestFailure, restErrorFrom, retryAfterSeconds } from "./error.ts";
import { getHttpBody, isHttpBody } from "./http-body.ts";
import type { RestSettings } from "./options.ts";
import type { Route } from "./route.ts";
import { chooseStreamFormat, type StreamFormat } from "./stream-format.ts";

type Message = MessageShape<DescMessage>;

const utf8 = new TextEncoder();

/** A response that has a body. */
export type ResponseWithBody = UniversalServerResponse & {
  readonly body: AsyncIterable<Uint8Array>;
};

/**
 * The response for one message. Trailers have no place in it that clients look
 * at: as in Connect, they are headers that begin with `trailer-`.
 */
export async function messageResponse(
  route: Route,
  message: Message,
  context: CallContext,
): Promise<ResponseWithBody> {
  const header = trailerMux(context.responseHeader, context.responseTrailer);
  const isRaw = isHttpBodyRoute(route);
  const { contentType, data } = isRaw ? httpBodyOf(route, message) : jsonBodyOf(route, message);
  if (contentType !== "") header.set("content-type", contentType);
  const { writeMaxBytes } = route.options;
  if (data.byteLength > writeMaxBytes) {
    const message = `the answer is larger than writeMaxBytes, ${writeMaxBytes}`;
    throw new ConnectError(message, Code.ResourceExhausted);
  }
  const acceptEncoding = context.requestHeader.get("accept-encoding");
  const body = await compressed(route, data, header, acceptEncoding);
  header.set("content-length", String(body.byteLength));
  return { status: 200, header, body: createAsyncIterable([body]) };
}

/**
 * The response for a stream. Waits for its first message, so that an error
 * before it still has a status; a later one is the last thing in the body.
 *
 * @throws what comes before the first message.
 */
export async function streamResponse(
  route: Route,
  messages: AsyncIterable<Message>,
  context: CallContext,
): Promise<ResponseWithBody> {
  const iterator = messages[Symbol.asyncIterator]();
  const first = await iterator.next();
  const all = resume(first, iterator);
  const { requestHeader, responseHeader: header, responseTrailer: trailer } = context;
  if (isHttpBodyRoute(route)) {
    const contentType = first.done === true ? "" : httpBodyOf(route, first.value).contentType;
    if (contentType !== "") header.set("content-type", contentType);
    return { status: 200, header, trailer, body: writeChunks(route, all) };
  }
  const format = chooseStreamFormat(requestHeader.get("accept"), route.settings.streamFormat);
  header.set("content-type", format.contentType);
  return { status: 200, header, trailer, body: writeMessages(route, all, format) };
}

/** The response for an error. */
export function errorResponse(
  reason: unknown,
  settings: Pick<RestSettings, "renderError">,
  header = new Headers(),
): ResponseWithBody {
  const restError = restErrorFrom(reason);
  const { status, body } = settings.renderError(restError);
  // What another service answered has headers of its own, which are not ours to pass on.
  if (!restError.error.isWireError) mergeNonProtocolHeaders(header, restError.error.metadata);
  if (reason instanceof RestFailure) {
    for (const [name, value] of Object.entries(reason.header)) header.set(name, value);
  }
  const retryAfter = retryAfterSeconds(restError.error);
  if ((retryAfter !== undefined || status === 503) && !header.has("retry-after")) {
    header.set("retry-after", String(retryAfter ?? 1));
  }
  header.set("content-type", "application/json");
  const bytes = utf8.encode(JSON.stringify(body));
  header.set("content-length", String(bytes.byteLength));
  return { status, header, body: createAsyncIterable([bytes]) };
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
): AsyncGenerator<Uint8Array> {
  let index = 0;
  let prefix = format.open;
  try {
    for await (const message of messages) {
      yield utf8.encode(prefix + format.message(toText(route, message), index++));
      prefix = "";
    }
  } catch (error) {
    const { body } = route.settings.renderError(restErrorFrom(error));
    prefix += format.error(JSON.stringify(body), index);
  }
  yield utf8.encode(prefix + format.close);
}

async function* writeChunks(route: Route, messages: AsyncIterable<Message>) {
  for await (const message of messages) yield httpBodyOf(route, message).data;
}

/** The iterator again, from a result on that was already taken from it. */
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

async function compressed(
  { options }: Route,
  bytes: Uint8Array,
  header: Headers,
  acceptEncoding: string | null,
): Promise<Uint8Array> {
  if (bytes.byteLength < options.compressMinBytes) return bytes;
  header.append("vary", "accept-encoding");
  const coding = options.acceptCompression.find(({ name }) => accepts(acceptEncoding, name));
  if (coding === undefined) return bytes;
  header.set("content-encoding", coding.name);
  return await coding.compress(bytes);
}

/** RFC 9110 section 12.5.3, for a coding that is named. */
function accepts(acceptEncoding: string | null, name: string): boolean {
  return (acceptEncoding ?? "").split(",").some((part) => {
    const [coding = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    return coding === name && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

function jsonBodyOf(route: Route, message: Message) {
  return { contentType: "application/json", data: utf8.encode(toText(route, message)) };
}

function toText({ spec, binding, options, settings }: Route, message: Message): string {
  const writeOptions = { ...options.jsonOptions, int64: settings.int64 };
  const json = messageToJson(spec.method.output, message, writeOptions);
  const { responseBody } = binding;
  if (responseBody === undefined) return JSON.stringify(json);
  const name = writeOptions.useProtoFieldName ? responseBody.name : responseBody.jsonName;
  const isSet = isJsonObject(json) && Object.hasOwn(json, name);
  return JSON.stringify(isSet ? json[name] : emptyValue(responseBody, name, writeOptions));
}

/** What a field is that was not set: its zero, where it has one; else `{}` or null. */
function emptyValue(field: DescField, name: string, options: JsonWriterOptions): JsonValue {
  const zeros = { ...options, alwaysEmitImplicit: true };
  const json = messageToJson(field.parent, create(field.parent), zeros);
  const zero = isJsonObject(json) ? json[name] : undefined;
  return zero ?? (field.fieldKind === "message" ? {} : null);
}
