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
import {
  errorResponse,
  type RestError,
  renderStatus,
  restErrorFrom,
} from "../errors/http-error.ts";
import { byteLengthOf, bytesOf, jsonResponse } from "../http/body.ts";
import type { Ending, Head, Response } from "../http/exchange.ts";
import { withoutLength } from "../http/headers.ts";
import { isCompressible as isText } from "../rest/response/answer-coding.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { serverSentEvents } from "../rest/stream/stream-format.ts";
import {
  type Call,
  type Failure,
  headDelayMs,
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
} from "./message.ts";
import type { McpSettings } from "./options.ts";
import { withMetadata } from "./protected-resource.ts";
import type { Tool } from "./tool.ts";
import { isObject, valueMember } from "./tool-schema.ts";

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

const noBytes = new Uint8Array(0);

const terms = { protocol: "mcp" } as const;

/** The wire of a tool: JSON, and events for a stream. */
export class ToolWire implements StreamWire<ToolCall> {
  readonly terms = terms;
  readonly header = {};
  readonly trailer = noTrailer;
  readonly tool: Tool;
  readonly spec: Tool["spec"];
  readonly options: Tool["options"];
  readonly #settings: McpSettings;

  constructor(tool: Tool, settings: McpSettings) {
    const { spec } = tool;
    this.tool = tool;
    this.options = tool.options;
    this.#settings = settings;
    this.spec = spec;
    if (spec.kind !== "server_streaming") return;
    const impl: typeof spec.impl = (message, context) =>
      this.#untilFull(
        spec.impl(message, context),
        (context as unknown as Call<ToolCall>).call.parts,
      );
    this.spec = { ...spec, impl };
  }

  /** Ends the stream when the result is full: models have room for so much. */
  async *#untilFull<T>(messages: AsyncIterable<T>, parts: ToolCall): AsyncGenerator<T> {
    const { streamBytesMax, streamTimeMs } = this.#settings;
    const time = AbortSignal.timeout(streamTimeMs);
    try {
      for await (const message of untilAborted(messages, time)) {
        parts.isCut = parts.bytes >= streamBytesMax;
        if (parts.isCut) return;
        yield message;
      }
    } catch (error) {
      if (error !== time.reason) throw error;
      parts.isCut = true;
    }
  }

  read({ exchange, parts: { args } }: Call<ToolCall>): Message | Promise<Message> {
    const { readMaxValues } = this.options;
    const parse = () => this.#bind(args);
    return decode(noBytes, { parse, readMaxValues }, exchange.holding);
  }

  #bind(args: ToolCall["args"]): Message {
    const { tool } = this;
    const { input } = tool.spec.method;
    const strict = { ignoreUnknownFields: false, refusesUnsafe: true };
    const options = { ...tool.options.jsonOptions, ...strict };
    if (isObject(input)) return messageFromJson(input, args, options);
    const { [valueMember]: value = null, ...others } = args;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined)
      throw badRequest([new FieldViolation(unknown, "is not a known field")]);
    return messageFromJson(input, value, options);
  }

  readAll(): never {
    throw new Error("a tool takes one message");
  }

  write(call: Call<ToolCall>, message: Message): Response {
    const { request, signature } = call.parts;
    const { tool } = this;
    const { output } = tool.spec.method;
    const { header, ...response } = jsonResponse(
      isHttpBody(output, undefined)
        ? resultText(request.id, membersOf(contentOf(message as HttpBody, tool), signature))
        : structured(
            call.parts,
            isObject(output)
              ? this.#textOf(message)
              : `{"${valueMember}":${this.#textOf(message)}}`,
          ),
    );
    return { ...response, header: { ...headerWithTrailer(call), ...header } };
  }

  /** Clients get a token for an error without one, and try again. */
  fail(call: Call<ToolCall>, error: unknown): Response {
    const { request, signature } = call.parts;
    if (restErrorFrom(error).error.code === Code.Unauthenticated) {
      return refusal(error, request.id, call, this.#settings);
    }
    const renderError = (rest: RestError) => {
      const result: JsonObject = JSON.parse(`{${failureOf(rest, signature)}}`);
      return { status: 200, body: envelope(request.id, { result }) };
    };
    return errorResponse(error, { renderError, ...this.options.jsonOptions }, call);
  }

  headDelayMs(): number {
    return headDelayMs;
  }

  head({ responseHeader }: Call<ToolCall>): Head {
    const { contentType, header } = serverSentEvents;
    const own = withoutLength(responseHeader.toNode());
    return { status: 200, header: { ...own, ...header, "content-type": contentType } };
  }

  /** Progress; or a comment, by which proxies see that the call goes on. */
  chunk({ parts }: Call<ToolCall>, message: Message): Uint8Array {
    const text = this.#textOf(message);
    const progress = parts.texts.push(text);
    parts.bytes += byteLengthOf(text);
    const { _meta: meta } = parts.request.params;
    const token = isJsonObject(meta) ? stringOrInteger(meta["progressToken"]) : undefined;
    if (token === undefined) return bytesOf(serverSentEvents.comment);
    const params = { progressToken: token, progress };
    const notification = { jsonrpc: "2.0", method: "notifications/progress", params };
    return event(JSON.stringify(notification));
  }

  end({ parts }: Call<ToolCall>, failure: Failure | undefined): Ending {
    const text = `{"messages":[${parts.texts.join(",")}],"truncated":${parts.isCut}}`;
    if (failure === undefined) return { body: event(structured(parts, text)) };
    const { jsonOptions } = this.options;
    const rest = restErrorFrom(failure.error, jsonOptions?.registry);
    const members = failureOf(rest, parts.signature);
    return { body: event(structured(parts, text, members)), error: rest.error };
  }

  #textOf(message: Message): string {
    return this.tool.codecs.json.serialize(message) as string;
  }
}

/** The response for an error that is no result. The HTTP status says what to do about it. */
export function refusal(
  error: unknown,
  id: RpcMessage["id"],
  call: Call<ToolCall>,
  { authorization }: McpSettings,
): Response {
  return withMetadata(
    errorResponse(error, { renderError: renderErrorOf(id) }, call),
    authorization,
  );
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
  const { writeMaxBytes } = options;
  const { length } = data;
  if (length > writeMaxBytes) throw answerTooLarge(length, writeMaxBytes);
  const mimeType = contentType || "application/octet-stream";
  if (isText(mimeType)) return { type: "text", text: new TextDecoder().decode(data) };
  const [, type] = /^(image|audio)\//i.exec(mimeType) ?? [];
  if (type !== undefined) return { type: type.toLowerCase(), data: base64Encode(data), mimeType };
  const resource = { uri: `urn:mcp:tool:${name}`, mimeType, blob: base64Encode(data) };
  return { type: "resource", resource };
}

function event(json: string): Uint8Array {
  return bytesOf(serverSentEvents.message(json, 0));
}
