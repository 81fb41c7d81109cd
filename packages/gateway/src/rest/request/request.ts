import type { DescField } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type MethodImplSpec } from "@connectrpc/connect";
import { type Compression, compressionNegotiate } from "@connectrpc/connect/protocol";
import { type Decoding, decode } from "../../codec/decode.ts";
import { type JsonWriterOptions, parseJson } from "../../codec/json-messages.ts";
import type { JsonOptions } from "../../codec/json-scalar.ts";
import type { ExactJson } from "../../codec/json-text.ts";
import { badRequest, FieldViolation } from "../../codec/violation.ts";
import { RestFailure } from "../../errors/http.ts";
import { inPieces, readBody as readPacked } from "../../http/body.ts";
import { type Exchange, headerOf } from "../../http/exchange.ts";
import { mediaTypeOf } from "../../http/headers.ts";
import type { Call, Message } from "../../rpc/call.ts";
import type { Endpoint } from "../../rpc/endpoint.ts";
import { isTooLarge, unpack } from "../../rpc/unpack.ts";
import type { RestSettings } from "../options.ts";
import type { AnswerCoding } from "../response/answer-coding.ts";
import { jsonPath } from "../rule/field-path.ts";
import { setHttpBody } from "../rule/http-body.ts";
import { captureVariable, segmentsIn } from "../rule/path-template.ts";
import type { Binding } from "../rule/rule.ts";
import { splitArray, splitLines, tooLarge } from "../stream/json-stream.ts";
import { bindRequest, type MatchName } from "./bind.ts";
import { mergePatchType, type UpdateMask } from "./update-mask.ts";

/** One binding of one method, and how it is served. */
export interface Rest {
  readonly spec: Exclude<MethodImplSpec, { kind: "bidi_streaming" }>;
  readonly options: Endpoint["options"];
  readonly prefix: string;
  readonly binding: Binding;
  /** Whether the body, and the answer, is a google.api.HttpBody. */
  readonly isHttpBody: { readonly request: boolean; readonly answer: boolean };
  readonly settings: RestSettings;
  readonly status: number;
  readonly answerCodings: readonly AnswerCoding[];
  /** How to fill the mask of a PATCH; undefined if it is not filled. */
  readonly updateMask: UpdateMask | undefined;
  readonly bodyTypes: readonly string[];
  readonly ignoresParameter: MatchName;
  /** How to read JSON: the options of the method and of REST. */
  readonly jsonOptions: JsonOptions;
  readonly writerOptions: JsonWriterOptions;
}

/**
 * Creates what reads the single message of a call. An empty body is the empty message, as in other
 * transcoders: `curl -X POST` sends that. It throws {ConnectError} {@link RestFailure}.
 */
export function createReader(rest: Rest): (call: Pick<Call, "exchange">) => Promise<Message> {
  const { binding, bodyTypes, isHttpBody, options, spec } = rest;
  const { body } = binding;
  if (body === undefined) {
    return ({ exchange }) =>
      readBody(exchange, options, (bytes) => {
        if (bytes.length === 0) return bind(rest, exchange, undefined);
        throw badRequest([new FieldViolation("", "must not have a body")]); // it would be lost
      });
  }
  if (isHttpBody.request) {
    return ({ exchange }) =>
      readBody(exchange, options, (data) => withHttpBody(rest, exchange, data));
  }
  const isValue = hasCustomJsonRepresentation(spec.method.input);
  const limit = { bytesMax: options.readMaxBytes, tooLarge: () => tooLarge(options.readMaxBytes) };

  return ({ exchange }) => {
    const { headers, holding } = exchange;
    const { "content-type": given = "", "content-encoding": coding } = headers;
    const bindNothing = () => bind(rest, exchange, isValue ? undefined : emptyBody(body));
    if (given === "") return readNothing(exchange, options, bodyTypes, bindNothing);
    const type = bodyTypes.includes(given as string) ? given : assertMediaType(exchange, bodyTypes);
    const isPatch = type === mergePatchType;
    const parse = (bytes: Uint8Array) =>
      bytes.length === 0 ? bindNothing() : decode(bytes, textOf(rest, exchange, isPatch), holding);
    return coding === undefined
      ? readPacked(exchange, limit, parse)
      : readBody(exchange, options, parse);
  };
}

/** The value of a field that is an empty body: an empty message. Any other field is not set. */
function emptyBody(body: "*" | DescField): ExactJson | undefined {
  const isMessage = body !== "*" && body.fieldKind === "message";
  return isMessage && !hasCustomJsonRepresentation(body.message) ? {} : undefined;
}

const streamTypes = ["application/x-ndjson", "application/json"];

/**
 * Reads the messages of a client-streaming call as they arrive: lines of NDJSON, the elements of a
 * JSON array, or the chunks of a google.api.HttpBody. Path and query apply to each message, and are
 * checked without one, too. An empty body without a Content-Type has no messages, as in NDJSON.
 */
export async function* readMessages(rest: Rest, request: Exchange): AsyncGenerator<Message> {
  const { isHttpBody, options } = rest;
  let isEmpty = true;
  if (isHttpBody.request) {
    for await (const chunk of streamBody(request, options)) {
      isEmpty = false;
      yield withHttpBody(rest, request, chunk);
    }
  } else if (!headerOf(request, "content-type")) {
    await readNothing(request, options, streamTypes, () => {});
  } else {
    const type = assertMediaType(request, streamTypes);
    const split = type === "application/json" ? splitArray : splitLines;
    const limits = { valueBytesMax: options.readMaxBytes, holding: request.holding };
    const reading = textOf(rest, request);
    let held = 0;
    for await (const text of split(streamBody(request, options), limits)) {
      isEmpty = false;
      yield decode(text, reading, request.holding, (bytes) => (held = bytes));
      // Whoever asks for the next message is done with this one.
      if (held > 0) request.holding?.give(held);
      held = 0;
    }
  }
  if (isEmpty) bind(rest, request, undefined);
}

function textOf(rest: Rest, request: Exchange, isPatch = false): Decoding<Message> {
  const { readMaxValues } = rest.options;
  return { parse: (bytes) => bind(rest, request, parseJson(bytes), isPatch), readMaxValues };
}

function bind(rest: Rest, request: Exchange, body?: ExactJson, isPatch = false): Message {
  const { path, query } = request;
  const { binding, ignoresParameter, jsonOptions, spec, updateMask } = rest;
  const { variables, template } = binding;
  const segments =
    variables.length === 0 ? [] : segmentsIn(path.slice(rest.prefix.length), template);
  const pathValues = variables.map((variable) => {
    const text = captureVariable(template, variable, segments);
    if (text === undefined) {
      const name = jsonPath(variable.path);
      throw badRequest([new FieldViolation(name, "is not percent-encoded UTF-8 in the path")]);
    }
    return { path: variable.path, text };
  });
  const bodyField = binding.body;
  const parts = { pathValues, query, bodyField, body, ignoresParameter, updateMask, isPatch };
  return bindRequest(spec.method.input, parts, jsonOptions);
}

function withHttpBody(rest: Rest, request: Exchange, data: Uint8Array): Message {
  const { binding, spec } = rest;
  const message = bind(rest, request, undefined);
  const contentType = headerOf(request, "content-type") ?? "";
  setHttpBody(spec.method.input, message, binding.body, { contentType, data });
  return message;
}

type ReadOptions = Pick<Endpoint["options"], "readMaxBytes" | "acceptCompression">;

type Parse<T> = (bytes: Uint8Array) => T | Promise<T>;

/** The body, decompressed. @throws {RestFailure} 413 above the limit, 415 for another coding. */
export function readBody<T>(
  request: Exchange,
  { readMaxBytes, acceptCompression }: ReadOptions,
  parse: Parse<T>,
  refuse = () => tooLarge(readMaxBytes),
): Promise<T> {
  const limit = { bytesMax: readMaxBytes, tooLarge: refuse };
  const coding = negotiateCoding(headerOf(request, "content-encoding"), acceptCompression);
  if (coding === undefined) return readPacked(request, limit, parse);
  return readPacked(request, limit, async (bytes) => {
    const unpacked = await unpack(bytes, coding, readMaxBytes, request.holding).catch((error) => {
      throw isTooLarge(error) ? refuse() : error;
    });
    return parse(unpacked);
  });
}

/** The body as it arrives. Every runtime can decompress gzip so. @throws {RestFailure} 415 for another. */
function streamBody(request: Exchange, options: ReadOptions): AsyncIterable<Uint8Array> {
  const available = options.acceptCompression.filter(({ name }) => name === "gzip");
  const coding = negotiateCoding(headerOf(request, "content-encoding"), available);
  return coding === undefined ? request.chunks() : inPieces(gunzip(request.chunks()));
}

/** @throws {ConnectError} INVALID_ARGUMENT if it is no gzip, or cut; what ended the chunks. */
export async function* gunzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream("gzip");
  const writer = writable.getWriter();
  const writing = (async () => {
    try {
      for await (const chunk of chunks) await writer.write(chunk as Uint8Array<ArrayBuffer>);
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
      // The reason why the body ended, not the resulting error of the decompressor.
      if (error instanceof ConnectError) throw error;
    }
  })();
  writing.catch(() => {}); // reported below
  try {
    yield* readable;
  } catch (cause) {
    await writing;
    const text = "decompression failed"; // as connect-node has it
    throw new ConnectError(text, Code.InvalidArgument, undefined, undefined, cause);
  }
}

/** @throws {RestFailure} 415 for one that is not accepted, and for a charset other than UTF-8. */
export function assertMediaType(request: Exchange, types: readonly string[]): string {
  const type = mediaTypeOf(headerOf(request, "content-type") ?? "");
  if (types.includes(type)) return type;
  throw wrongMediaType(types);
}

/** Reads the body of a request without a Content-Type. @throws {RestFailure} 415 if it is not empty. */
function readNothing<T>(
  request: Exchange,
  { acceptCompression }: ReadOptions,
  types: readonly string[],
  parse: Parse<T>,
): Promise<T> {
  const refuse = () => wrongMediaType(types);
  // RFC 9110 section 10.1.1: only a request with a body may expect 100 (Continue).
  if (headerOf(request, "expect") !== null) throw refuse();
  return readBody(request, { readMaxBytes: 0, acceptCompression }, parse, refuse);
}

function wrongMediaType(types: readonly string[]): RestFailure {
  const message = `Content-Type must be ${types.join(" or ")}, in UTF-8`;
  return new RestFailure(415, Code.InvalidArgument, message, { accept: types.join(", ") });
}

function negotiateCoding(coding: string | null, available: Compression[]) {
  const named = coding?.slice(0, 100).toLowerCase() || null; // "" for none
  const { request, error } = compressionNegotiate(available, named, null, "accept-encoding");
  if (error === undefined) return request ?? undefined;
  // RFC 7694 section 3: the 415 lists the accepted codings.
  const names = ["identity", ...available.map(({ name }) => name)].join(", ");
  throw new RestFailure(415, Code.InvalidArgument, error.rawMessage, { "accept-encoding": names });
}
