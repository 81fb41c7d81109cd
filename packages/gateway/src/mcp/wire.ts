/** Calls of tools. An error of the service is a result, which models read. */
import type { JsonObject } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import type { HttpBody } from "../../gen/google/api/httpbody_pb.ts";
import { answerTooLarge } from "../codec/codec.ts";
import { decode } from "../codec/decode.ts";
import { messageFromJson } from "../codec/json-messages.ts";
import { type ExactJson, isJsonObject } from "../codec/json-text.ts";
import { badRequest, FieldViolation } from "../codec/violation.ts";
import { errorResponse, type RestError, renderStatus, restErrorFrom } from "../errors/http.ts";
import { byteLengthOf, bytesOf, jsonResponse } from "../http/body.ts";
import { type Exchange, headerOf, type Response } from "../http/exchange.ts";
import { withoutLength } from "../http/headers.ts";
import { commentMs } from "../rest/handler.ts";
import { textTypes } from "../rest/response/answer-coding.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { chooseStreamFormat, serverSentEvents } from "../rest/stream/stream-format.ts";
import {
  type Call,
  headerWithTrailer,
  type Message,
  noTrailer,
  type StreamWire,
} from "../rpc/call.ts";
import { codeNameOf } from "../rpc/call-names.ts";
import { untilAborted } from "../rpc/streams.ts";
import {
  envelope,
  type RpcMessage,
  renderErrorOf,
  resultText,
  stringOrInteger,
  textOf,
} from "./message.ts";
import type { McpSettings } from "./options.ts";
import { withMetadata } from "./protected-resource.ts";
import { isObject, type Tool, valueMember } from "./tool.ts";

/** What a call of a tool keeps. */
export interface ToolCall {
  /** Known once the body is read, as are its arguments. */
  request: RpcMessage;
  args: { readonly [name: string]: ExactJson };
  /** The end of every result, as JSON text. */
  signature: string;
  /** The messages of a stream, as JSON. */
  readonly texts: string[];
  bytes: number;
  /** Whether the stream went on. */
  isCut: boolean;
}

const terms = { protocol: "mcp" } as const;

export type ToolWire = StreamWire<ToolCall> & Pick<Tool, "options">;

/** The wire of a tool: JSON, and events for a stream. */
export function createToolWire(tool: Tool, settings: McpSettings): ToolWire {
  const { options, codecs } = tool;
  const { input, output } = tool.spec.method;
  const jsonOf = (message: Message) => codecs.json.serialize(message) as string;

  function bind(args: ToolCall["args"]): Message {
    const strict = { ignoreUnknownFields: false, refusesUnsafe: true };
    const jsonOptions = { ...options.jsonOptions, ...strict };
    if (isObject(input)) return messageFromJson(input, args, jsonOptions);
    const { [valueMember]: value = null, ...others } = args;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined)
      throw badRequest([new FieldViolation(unknown, "is not a known field")]);
    return messageFromJson(input, value, jsonOptions);
  }

  return {
    ...{ terms, options, spec: specOf(tool, settings), header: {}, trailer: noTrailer },
    read({ exchange, parts: { args } }) {
      const { readMaxValues } = options;
      return decode(new Uint8Array(), { parse: () => bind(args), readMaxValues }, exchange.holding);
    },
    readAll() {
      throw new Error("a tool takes one message");
    },
    write(call, message) {
      const { request, signature } = call.parts;
      const text = () =>
        isObject(output) ? jsonOf(message) : `{"${valueMember}":${jsonOf(message)}}`;
      const { header, ...response } = jsonResponse(
        isHttpBody(output, undefined)
          ? resultText(request.id, membersOf(contentOf(message as HttpBody, tool), signature))
          : structured(call.parts, text()),
      );
      return { ...response, header: { ...headerWithTrailer(call), ...header } };
    },
    // Clients get a token for an error without one, and try again.
    fail(call, error) {
      const { request, signature } = call.parts;
      if (restErrorFrom(error).error.code === Code.Unauthenticated) {
        return refusal(error, request.id, call, settings);
      }
      const renderError = (rest: RestError) => {
        const result: JsonObject = JSON.parse(`{${failureOf(rest, signature)}}`);
        return { status: 200, body: envelope(request.id, { result }) };
      };
      return errorResponse(error, { renderError, ...options.jsonOptions }, call);
    },
    head({ exchange, responseHeader }) {
      const { contentType, header } = serverSentEvents;
      const own = withoutLength(responseHeader.toNode());
      const type = takesEvents(exchange) ? contentType : "application/json";
      return { status: 200, header: { ...own, ...header, "content-type": type } };
    },
    // Readers ignore empty lines. But after 256 without an event, the Java SDK reads no more.
    quiet: () => ({ chunk: bytesOf("\n"), everyMs: commentMs }),
    chunk({ exchange, parts }, message) {
      const text = jsonOf(message);
      const progress = parts.texts.push(text);
      parts.bytes += byteLengthOf(text);
      const { _meta: meta } = parts.request.params;
      const token = isJsonObject(meta) ? stringOrInteger(meta["progressToken"]) : undefined;
      if (token === undefined || !takesEvents(exchange)) return new Uint8Array();
      const params = { progressToken: token, progress };
      return event(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }));
    },
    end({ exchange, parts }, failure) {
      const isCut = parts.isCut || failure !== undefined;
      const text = `{"messages":[${parts.texts.join(",")}],"truncated":${isCut}}`;
      const rest = failure && restErrorFrom(failure.error, options.jsonOptions?.registry);
      const result = structured(parts, text, rest && failureOf(rest, parts.signature));
      return { body: takesEvents(exchange) ? event(result) : bytesOf(result), error: rest?.error };
    },
  };
}

/** A stream ends when the result is full: models have room for so much. */
function specOf({ spec }: Tool, { streamBytesMax, streamTimeMs }: McpSettings): Tool["spec"] {
  if (spec.kind !== "server_streaming") return spec;
  async function* untilFull<T>(messages: AsyncIterable<T>, parts: ToolCall): AsyncGenerator<T> {
    const time = new AbortController();
    // That of AbortSignal.timeout lets a process end whose only work is this call, as by stdio.
    const timer = setTimeout(() => time.abort(), streamTimeMs);
    try {
      for await (const message of untilAborted(messages, time.signal)) {
        parts.isCut = parts.bytes >= streamBytesMax;
        if (parts.isCut) return;
        yield message;
      }
    } catch (error) {
      if (error !== time.signal.reason) throw error;
      parts.isCut = true;
    } finally {
      clearTimeout(timer);
    }
  }
  const impl: typeof spec.impl = (message, context) => {
    const { parts } = (context as unknown as Call<ToolCall>).call;
    return untilFull(spec.impl(message, context), parts);
  };
  return { ...spec, impl };
}

/** The response for an error that is no result. The HTTP status says what to do about it. */
export function refusal(
  error: unknown,
  id: RpcMessage["id"],
  call: Call<ToolCall>,
  { authorization }: McpSettings,
): Response {
  const response = errorResponse(error, { renderError: renderErrorOf(id) }, call);
  return withMetadata(response, authorization);
}

/** Has its content as text, too, for clients that read nothing else. */
function structured(
  { request, signature }: ToolCall,
  text: string,
  members = membersOf({ type: "text", text }, signature),
): string {
  return resultText(request.id, `"structuredContent":${text},${members}`);
}

/** Those of a result, as JSON text. */
function membersOf(content: object, signature: string): string {
  return `"content":[${JSON.stringify(content)}]${signature}`;
}

function failureOf(error: RestError, signature: string): string {
  const { body } = renderStatus(error);
  const text = JSON.stringify({ ...body, code: codeNameOf(body.code) });
  return `"isError":true,${membersOf({ type: "text", text }, signature)}`;
}

/** A google.api.HttpBody as content, by its media type. */
function contentOf({ contentType, data }: HttpBody, { name, options }: Tool) {
  if (data.length > options.writeMaxBytes) throw answerTooLarge(data.length, options.writeMaxBytes);
  const mimeType = contentType || "application/octet-stream";
  // Text of another encoding is exact as a resource alone.
  const text = textTypes.test(mimeType) ? textOf(() => data) : undefined;
  if (text !== undefined) return { type: "text", text };
  const [, type] = /^(image|audio)\//i.exec(mimeType) ?? [];
  if (type !== undefined) return { type: type.toLowerCase(), data: base64Encode(data), mimeType };
  const resource = { uri: `urn:mcp:tool:${name}`, mimeType, blob: base64Encode(data) };
  return { type: "resource", resource };
}

/** Some clients accept `application/json` alone. */
const takesEvents = (exchange: Exchange) =>
  chooseStreamFormat(headerOf(exchange, "accept"), "sse") === serverSentEvents;

function event(json: string): Uint8Array {
  return bytesOf(serverSentEvents.message(json, 0));
}
