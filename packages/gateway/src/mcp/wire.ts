/** Calls of tools. An error of the service is a result, which models read. */
import { Code } from "@connectrpc/connect";
import type { HttpBody } from "../../gen/google/api/httpbody_pb.ts";
import { messageFromJson } from "../codec/json-messages.ts";
import type { ExactJson } from "../codec/json-value.ts";
import { messageToJson, telling } from "../codec/json-writer.ts";
import { badRequest, FieldViolation } from "../codec/violation.ts";
import { type Body, byteLengthOf, bytesOf } from "../http/body.ts";
import type { Ending, Head, Response } from "../http/exchange.ts";
import { type RestError, RestFailure, renderStatus, restErrorFrom } from "../rest/error.ts";
import { errorResponse } from "../rest/response/response.ts";
import { isHttpBody } from "../rest/rule/http-body.ts";
import { codeNameOf } from "../rpc/call-names.ts";
import { type CallContext, headerWithTrailer } from "../rpc/context.ts";
import { type Failure, headDelayMs, type Message, type StreamWire } from "../rpc/wire.ts";
import type { Collected } from "./collect.ts";
import { contentOf } from "./content.ts";
import { envelope, jsonResponse, type RpcMessage } from "./json-rpc.ts";
import type { Tool } from "./tool.ts";
import { isObject, valueMember } from "./tool-schema.ts";

export interface ToolCall {
  readonly tool: Tool;
  readonly context: CallContext;
  /** Of the request, as JSON text. */
  readonly id: string;
  readonly args: RpcMessage["params"];
  /** As JSON text; undefined if the client wants no progress. */
  readonly progressToken: string | undefined;
  /** The members of every result. */
  readonly signature: object;
  /** Responds with an error of HTTP. */
  readonly refuse: (error: unknown) => Response;
}

/** What a call reads and writes: JSON, and events for a stream, which may take a while. */
export class ToolWire implements StreamWire, Collected {
  readonly refusal = undefined;
  readonly headDelayMs = headDelayMs;
  readonly #call: ToolCall;
  /** Of the messages of a stream. */
  readonly #texts: string[] = [];
  bytes = 0;
  isCut = false;

  constructor(call: ToolCall) {
    this.#call = call;
  }

  read(): Message {
    const { tool, args } = this.#call;
    const { input } = tool.spec.method;
    const { jsonOptions } = tool.endpoint.options;
    const options = { ...jsonOptions, ignoreUnknownFields: false, refusesUnsafe: true };
    if (isObject(input)) return messageFromJson(input, args as ExactJson, options);
    const { [valueMember]: value = null, ...others } = args;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) throw badRequest([new FieldViolation(unknown, "is unknown")]);
    return messageFromJson(input, value, options);
  }

  readAll(): never {
    throw new Error("a tool takes one message");
  }

  write(message: Message): Response {
    const { context, tool } = this.#call;
    const { output } = tool.spec.method;
    const response = jsonResponse(
      isHttpBody(output, undefined)
        ? this.#content(message as HttpBody)
        : this.#structured(
            isObject(output)
              ? this.#textOf(message)
              : `{"${valueMember}":${this.#textOf(message)}}`,
          ),
    );
    return { ...response, header: { ...headerWithTrailer(context), ...response.header } };
  }

  fail(error: unknown): Response {
    const { context, id, refuse } = this.#call;
    // Clients get a token then, and try again.
    if (restErrorFrom(error).error.code === Code.Unauthenticated) return refuse(error);
    const renderError = (rest: RestError) => {
      const result = JSON.parse(`{${this.#errorEnd(rest)}`);
      return { status: 200, body: envelope(id, { result }) };
    };
    return errorResponse(error, { renderError }, context);
  }

  head(): Head {
    const { "content-length": _length, ...own } = this.#call.context.responseHeader.toNode();
    return { status: 200, header: { ...own, ...eventHeader } };
  }

  /** Progress; or a comment, by which proxies see that the call goes on. */
  chunk(message: Message): Uint8Array {
    const text = this.#textOf(message);
    const progress = this.#texts.push(text);
    this.bytes += byteLengthOf(text);
    const { progressToken: token } = this.#call;
    if (token === undefined) return bytesOf(":\n\n");
    const params = `{"progressToken":${token},"progress":${progress}}`;
    const method = "notifications/progress";
    return bytesOf(event(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`));
  }

  end(failure: Failure | undefined): Ending {
    const text = `{"messages":[${this.#texts.join(",")}],"truncated":${this.isCut}}`;
    const error = failure && restErrorFrom(failure.error);
    const result = this.#structured(text, error && this.#errorEnd(error));
    return { body: bytesOf(event(result)), ...(error && { code: error.error.code }) };
  }

  #content(message: HttpBody): string {
    this.#assertSize(message.data);
    return this.#result(this.#end(contentOf(message, this.#call.tool)));
  }

  /** Has its content as text, too, for clients that read nothing else. */
  #structured(text: string, end = this.#end({ type: "text", text })): string {
    return this.#result(`"structuredContent":${text},${end}`);
  }

  /** @param members As JSON text, with the last brace. */
  #result(members: string): string {
    return `{"jsonrpc":"2.0","id":${this.#call.id},"result":{${members}}`;
  }

  #end(content: object, isError = false): string {
    const { signature } = this.#call;
    const members = { content: [content], ...(isError && { isError }), ...signature };
    return JSON.stringify(members).slice(1);
  }

  #errorEnd({ status, error }: RestError): string {
    const { message, details } = renderStatus({ status, error }).body;
    const text = JSON.stringify({ code: codeNameOf(error.code), message, details });
    return this.#end({ type: "text", text }, true);
  }

  #textOf(message: Message): string {
    const { spec, endpoint } = this.#call.tool;
    const { jsonOptions = {}, onUnknownType } = endpoint.options;
    const options = telling(jsonOptions, onUnknownType);
    const text = JSON.stringify(messageToJson(spec.method.output, message, options));
    this.#assertSize(text);
    return text;
  }

  #assertSize(content: Body): void {
    const { writeMaxBytes } = this.#call.tool.endpoint.options;
    if (byteLengthOf(content) <= writeMaxBytes) return;
    const reason = `the answer is larger than writeMaxBytes, ${writeMaxBytes}`;
    throw new RestFailure(500, Code.ResourceExhausted, reason);
  }
}

const eventHeader = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no", // of nginx: it would keep events until it has a buffer full of them
};

function event(data: string): string {
  return `event: message\ndata: ${data}\n\n`;
}
