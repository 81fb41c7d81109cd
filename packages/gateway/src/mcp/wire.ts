/** Calls of tools. */
import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { HttpBody } from "../../gen/google/api/httpbody_pb.ts";
import { type Body, byteLengthOf, bytesOf } from "../http/body.ts";
import type { Ending, Head, Response } from "../http/exchange.ts";
import { messageFromJson } from "../json/messages.ts";
import type { JsonOptions } from "../json/scalar.ts";
import type { ExactJson } from "../json/value.ts";
import { badRequest, FieldViolation } from "../json/violation.ts";
import { messageToJson } from "../json/writer.ts";
import { type RestError, RestFailure, renderStatus, restErrorFrom } from "../rest/error.ts";
import { isHttpBody } from "../rest/response/http-body.ts";
import { errorResponse } from "../rest/response/response.ts";
import { codeNameOf } from "../rpc/call-names.ts";
import type { CallContext } from "../rpc/context.ts";
import { headerWithTrailer } from "../rpc/trailer-header.ts";
import { type Failure, headDelayMs, type Message, type StreamWire } from "../rpc/wire.ts";
import type { Collected } from "./collect.ts";
import { contentOf } from "./content.ts";
import { type JsonMembers, jsonHeader, resultMessage } from "./json-rpc.ts";
import type { Tool } from "./tool.ts";
import { isObject, valueMember } from "./tool-schema.ts";

export interface ToolCall {
  readonly tool: Tool;
  readonly context: CallContext;
  /** Of the request, as JSON text. */
  readonly id: string;
  readonly args: JsonMembers;
  /** As JSON text; undefined if the client wants no progress, or cannot read it. */
  readonly progressToken: string | undefined;
  /** The members of every result. */
  readonly signature: object;
  /** Responds with an error of HTTP. */
  readonly refuse: (error: unknown) => Response;
}

/** What a tool call reads and writes. An error of the service is a result, which models read. */
export class ToolWire implements StreamWire, Collected {
  readonly refusal = undefined;
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
    if (isObject(input)) return messageFromJson(input, args as ExactJson, this.#jsonOptions);
    const { [valueMember]: value, ...others } = args;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) throw badRequest([new FieldViolation(unknown, "is unknown")]);
    return messageFromJson(input, value ?? null, this.#jsonOptions);
  }

  /** Tools take one message. */
  readAll(): never {
    throw new Error("a tool takes one message");
  }

  get #jsonOptions(): JsonOptions {
    const { jsonOptions } = this.#call.tool.endpoint.options;
    return { ...jsonOptions, ignoreUnknownFields: false };
  }

  write(message: Message): Response {
    const { output } = this.#call.tool.spec.method;
    const body = isHttpBody(output, undefined)
      ? this.#unstructured(message as HttpBody)
      : this.#structured(isObject(output) ? this.#textOf(message) : this.#valueOf(message));
    const own = headerWithTrailer(this.#call.context);
    return { status: 200, header: { ...own, ...jsonHeader(body) }, body };
  }

  #structured(text: string): string {
    const content = this.#end({ type: "text", text });
    return `${resultStart(this.#call.id)}"structuredContent":${text},${content}}`;
  }

  #unstructured(message: HttpBody): string {
    this.#assertSize(message.data);
    const { id, tool } = this.#call;
    return `${resultStart(id)}${this.#end(contentOf(message, tool))}}`;
  }

  #valueOf(message: Message): string {
    return `{"${valueMember}":${this.#textOf(message)}}`;
  }

  fail(error: unknown): Response {
    const { context, refuse } = this.#call;
    const { code } = restErrorFrom(error).error;
    // Clients get a token then, and try again.
    if (code === Code.Unauthenticated) return refuse(error);
    const renderError = (rest: RestError) => ({ status: 200, body: this.#errorResult(rest) });
    return errorResponse(error, { renderError }, context);
  }

  get headDelayMs(): number | undefined {
    return this.#hasEvents ? headDelayMs : undefined;
  }

  head(): Head {
    const { "content-length": _length, ...own } = this.#call.context.responseHeader.toNode();
    const type = this.#hasEvents ? eventHeader : { "content-type": "application/json" };
    return { status: 200, header: { ...own, ...type } };
  }

  chunk(message: Message): Uint8Array {
    const text = this.#textOf(message);
    const count = this.#texts.push(text);
    this.bytes += byteLengthOf(text);
    const { id, progressToken } = this.#call;
    if (progressToken !== undefined) return bytesOf(event(progressText(progressToken, count)));
    return bytesOf(
      count === 1 ? `${resultStart(id)}"structuredContent":{"messages":[${text}` : `,${text}`,
    );
  }

  end(failure: Failure | undefined): Ending {
    const { id } = this.#call;
    const error = failure && restErrorFrom(failure.error);
    const begun = `{"messages":[${this.#texts.join(",")}`;
    const closed = `],"truncated":${this.isCut}}`;
    const text = begun + closed;
    const last = error === undefined ? this.#end({ type: "text", text }) : this.#errorEnd(error);
    const end = `${closed},${last}}`;
    const isBegun = !this.#hasEvents && this.#texts.length > 0;
    const whole = isBegun ? end : `${resultStart(id)}"structuredContent":${begun}${end}`;
    const body = this.#hasEvents ? event(whole) : whole;
    return { body: bytesOf(body), ...(error && { code: error.error.code }) };
  }

  get #hasEvents(): boolean {
    return this.#call.progressToken !== undefined;
  }

  #textOf(message: Message): string {
    const { spec, endpoint } = this.#call.tool;
    const { jsonOptions = {} } = endpoint.options;
    const text = JSON.stringify(messageToJson(spec.method.output, message, jsonOptions));
    this.#assertSize(text);
    return text;
  }

  #assertSize(content: Body): void {
    const { writeMaxBytes } = this.#call.tool.endpoint.options;
    if (byteLengthOf(content) <= writeMaxBytes) return;
    const reason = `the answer is larger than writeMaxBytes, ${writeMaxBytes}`;
    throw new RestFailure(500, Code.ResourceExhausted, reason);
  }

  /** The end of a result: its content as text, for clients that read nothing else. */
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

  #errorResult(error: RestError): JsonValue {
    return resultMessage(this.#call.id, JSON.parse(`{${this.#errorEnd(error)}`));
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

function progressText(token: string, count: number): string {
  const params = `{"progressToken":${token},"progress":${count}}`;
  return `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`;
}

function resultStart(id: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{`;
}
