/** Calls of tools. An error of the service is a result, which models read. */
import type { JsonObject } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import type { HttpBody } from "../../gen/google/api/httpbody_pb.ts";
import { answerTooLarge } from "../codec/codec.ts";
import { messageFromJson } from "../codec/json-messages.ts";
import { type ExactJson, isJsonObject } from "../codec/json-text.ts";
import { badRequest, FieldViolation } from "../codec/violation.ts";
import { byteLengthOf, bytesOf, jsonResponse } from "../http/body.ts";
import type { Ending, Head, Response } from "../http/exchange.ts";
import { type RestError, renderStatus, restErrorFrom } from "../rest/error.ts";
import { isCompressible as isText } from "../rest/response/answer-coding.ts";
import { errorResponse } from "../rest/response/response.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { serverSentEvents } from "../rest/stream/stream-format.ts";
import type { Callee } from "../rpc/call.ts";
import { codeNameOf } from "../rpc/call-names.ts";
import { type CallContext, headerWithTrailer } from "../rpc/context.ts";
import { type Failure, headDelayMs, type Message, type StreamWire } from "../rpc/protocol.ts";
import { untilAborted } from "../rpc/streams.ts";
import { envelope, type RpcMessage, resultText, stringOrInteger } from "./message.ts";
import type { McpSettings } from "./options.ts";
import type { Tool } from "./tool.ts";
import { isObject, valueMember } from "./tool-schema.ts";

export interface ToolCall {
  readonly tool: Tool;
  readonly context: CallContext;
  readonly request: RpcMessage;
  readonly args: { readonly [name: string]: ExactJson };
  /** The end of every result, as JSON text. */
  readonly signature: string;
  readonly settings: McpSettings;
}

/** The wire of a call: JSON, and events for a stream. */
export class ToolWire implements StreamWire {
  readonly refusal = undefined;
  readonly headDelayMs = headDelayMs;
  readonly #call: ToolCall;
  /** The messages of a stream, as JSON. */
  readonly #texts: string[] = [];
  #bytes = 0;
  /** Whether the stream went on. */
  #isCut = false;

  constructor(call: ToolCall) {
    this.#call = call;
  }

  /** The tool, whose stream ends when the result is full: models have room for so much. */
  get callee(): Callee {
    const { spec, options } = this.#call.tool;
    if (spec.kind !== "server_streaming") return this.#call.tool;
    const impl: typeof spec.impl = (...call) => this.#untilFull(spec.impl(...call));
    return { spec: { ...spec, impl }, options };
  }

  async *#untilFull<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
    const { streamBytesMax, streamTimeMs } = this.#call.settings;
    const time = AbortSignal.timeout(streamTimeMs);
    try {
      for await (const message of untilAborted(messages, time)) {
        this.#isCut = this.#bytes >= streamBytesMax;
        if (this.#isCut) return;
        yield message;
      }
    } catch (error) {
      if (error !== time.reason) throw error;
      this.#isCut = true;
    }
  }

  read(): Message {
    const { tool, args } = this.#call;
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

  write(message: Message): Response {
    const { context, request, tool } = this.#call;
    const { output } = tool.spec.method;
    const { header, ...response } = jsonResponse(
      isHttpBody(output, undefined)
        ? resultText(request.id, this.#membersOf(contentOf(message as HttpBody, tool)))
        : this.#structured(
            isObject(output)
              ? this.#textOf(message)
              : `{"${valueMember}":${this.#textOf(message)}}`,
          ),
    );
    return { ...response, header: { ...headerWithTrailer(context), ...header } };
  }

  /** @throws the error, if clients get a token for it, and try again. */
  fail(error: unknown): Response {
    const { context, request, tool } = this.#call;
    if (restErrorFrom(error).error.code === Code.Unauthenticated) throw error;
    const renderError = (rest: RestError) => {
      const result: JsonObject = JSON.parse(`{${this.#failureOf(rest)}}`);
      return { status: 200, body: envelope(request.id, { result }) };
    };
    return errorResponse(error, { renderError, ...tool.options.jsonOptions }, context);
  }

  head(): Head {
    const { contentType, header } = serverSentEvents;
    const { "content-length": _length, ...own } = this.#call.context.responseHeader.toNode();
    return { status: 200, header: { ...own, ...header, "content-type": contentType } };
  }

  /** Progress; or a comment, by which proxies see that the call goes on. */
  chunk(message: Message): Uint8Array {
    const text = this.#textOf(message);
    const progress = this.#texts.push(text);
    this.#bytes += byteLengthOf(text);
    const { _meta: meta } = this.#call.request.params;
    const token = isJsonObject(meta) ? stringOrInteger(meta["progressToken"]) : undefined;
    if (token === undefined) return bytesOf(serverSentEvents.comment);
    const params = { progressToken: token, progress };
    const notification = { jsonrpc: "2.0", method: "notifications/progress", params };
    return event(JSON.stringify(notification));
  }

  end(failure: Failure | undefined): Ending {
    const text = `{"messages":[${this.#texts.join(",")}],"truncated":${this.#isCut}}`;
    if (failure === undefined) return { body: event(this.#structured(text)) };
    const { jsonOptions } = this.#call.tool.options;
    const rest = restErrorFrom(failure.error, jsonOptions?.registry);
    return { body: event(this.#structured(text, this.#failureOf(rest))), error: rest.error };
  }

  /** Has its content as text, too, for clients that read nothing else. */
  #structured(text: string, members = this.#membersOf({ type: "text", text })): string {
    return resultText(this.#call.request.id, `"structuredContent":${text},${members}`);
  }

  /** Those of a result, as JSON text. */
  #membersOf(content: object): string {
    return `"content":[${JSON.stringify(content)}]${this.#call.signature}`;
  }

  #failureOf(error: RestError): string {
    const { body } = renderStatus(error);
    const text = JSON.stringify({ ...body, code: codeNameOf(body.code) });
    return `"isError":true,${this.#membersOf({ type: "text", text })}`;
  }

  #textOf(message: Message): string {
    return this.#call.tool.codecs.json.serialize(message) as string;
  }
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
