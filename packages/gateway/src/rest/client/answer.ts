/** Reads responses: messages in JSON or as they are, whole or as streams. */
import { create, type DescField, type DescMessage, type Registry } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { messageTooLarge } from "../../codec/codec.ts";
import { decode } from "../../codec/decode.ts";
import { messageFromJson, parseJson } from "../../codec/json-messages.ts";
import type { JsonOptions } from "../../codec/json-scalar.ts";
import { type ExactJson, isJsonObject } from "../../codec/json-text.ts";
import { RestFailure } from "../../errors/http.ts";
import { BodyBuffer } from "../../http/body.ts";
import type { Message } from "../../rpc/call.ts";
import { findField } from "../rule/field-path.ts";
import { isHttpBody, setHttpBody } from "../rule/http-body.ts";
import { splitLines, splitValues } from "../stream/json-stream.ts";
import { chunksOf, errorFrom, readUpTo } from "./error.ts";

export interface Reading {
  readonly output: DescMessage;
  /** The field that the body is; undefined for the whole message. */
  readonly part: DescField | undefined;
  readonly readMaxBytes: number;
  readonly readMaxValues: number;
  readonly jsonOptions: JsonOptions & { readonly registry: Registry };
}

/** @throws {ConnectError} for anything but one whole message. */
export async function readMessage(response: Response, reading: Reading): Promise<Message> {
  const { output, part, readMaxBytes, readMaxValues } = reading;
  const { status, headers } = response;
  const bytes = await readUpTo(response, readMaxBytes);
  if (bytes.length > readMaxBytes) throw messageTooLarge(readMaxBytes);
  if (isHttpBody(output, part)) return rawMessage(response, reading, bytes);
  const mayBeEmpty = status === 204 || status === 205 || headers.get("content-length") === "0";
  const isBare = output.fields.length === 0;
  if (bytes.length === 0 && (mayBeEmpty || isBare)) return create(output);
  let json: ExactJson | undefined;
  const parse = (text: Uint8Array) => {
    json = parseJson(text);
    return messageOf(reading, json);
  };
  try {
    return await decode(bytes, { parse, readMaxValues }, undefined);
  } catch (error) {
    const type = json === undefined ? jsonTypeOf(response, isBare ? "text/plain" : "") : "";
    if (type === "text/plain") return create(output); // OK, where a method returns nothing
    throw wrong(reading, error);
  }
}

function rawMessage({ headers }: Response, { output, part }: Reading, data: Uint8Array): Message {
  const message = create(output);
  const contentType = headers.get("content-type") ?? "";
  setHttpBody(output, message, part, { contentType, data });
  return message;
}

/** The media type. Servers that know nothing of it may send JSON without one. @throws {ConnectError} */
function jsonTypeOf({ status, headers }: Response, ...others: readonly string[]): string {
  const type = `${headers.get("content-type") ?? ""};`.split(";", 1).join().trim().toLowerCase();
  if (type === "" || jsonTypes.test(type) || others.includes(type)) return type;
  throw new ConnectError(`HTTP ${status} with ${type}, which is not JSON`, Code.Unknown);
}

const jsonTypes = /^(?:application|text)\/(?:[\w.+-]+\+)?(?:x-)?(?:nd|stream\+)?json(?:l|lines)?$/;

function messageOf({ output, part, jsonOptions }: Reading, json: ExactJson): Message {
  // Frameworks write null, or true, for a method that returns nothing.
  const said = output.fields.length > 0 || isJsonObject(json) ? json : {};
  return messageFromJson(output, part ? { [part.jsonName]: json } : said, jsonOptions);
}

/** What is wrong with a response is not the caller's argument. */
function wrong({ output, readMaxBytes }: Reading, cause: unknown): unknown {
  if (cause instanceof RestFailure) return messageTooLarge(readMaxBytes);
  const isOurs = cause instanceof ConnectError && !cause.isWireError;
  if (!isOurs || cause.code !== Code.InvalidArgument) return cause;
  const reason = cause.rawMessage.replace(/^the request /, "it ");
  const message = `the response is no ${output.typeName}: ${reason}`;
  return new ConnectError(message, Code.Internal, undefined, undefined, cause);
}

/** The messages of a stream: NDJSON, a JSON array, server-sent events, or raw chunks. */
export async function* readMessages(response: Response, reading: Reading): AsyncGenerator<Message> {
  const { output, part, jsonOptions, readMaxValues } = reading;
  if (isHttpBody(output, part)) {
    for await (const chunk of chunksOf(response)) yield rawMessage(response, reading, chunk);
    return;
  }
  // grpc-gateway says so. Its messages are in an envelope.
  const isWrapped = [...response.headers.keys()].some((name) => name.startsWith("grpc-metadata-"));
  const whole = part?.fieldKind === "message" ? part.message : part ? undefined : output;
  const desc = whole && !hasCustomJsonRepresentation(whole) ? whole : undefined;
  // A Struct or a map may have a member `result`. After a message without an envelope, a field is new.
  let isBare = desc === undefined;
  const isOther = (name: string, isMember: boolean) =>
    isWrapped || (!isMember && (desc === undefined || findField(desc, name) === undefined));
  try {
    for await (const { text, isError } of valuesOf(response, reading)) {
      const parse = () => {
        const json = parseJson(text);
        const only = isJsonObject(json) && Object.keys(json).length === 1 ? json : {};
        const isMember = isBare && isError !== undefined; // not the end of our own lines
        if (isError || (only["error"] !== undefined && isOther("error", isMember))) {
          throw errorFrom(json, jsonOptions.registry, { text: new TextDecoder().decode(text) });
        }
        const result = isOther("result", isBare) ? only["result"] : undefined;
        isBare ||= result === undefined;
        return messageOf(reading, result === undefined ? json : result);
      };
      yield decode(text, { parse, readMaxValues }, undefined);
    }
  } catch (error) {
    throw wrong(reading, error);
  }
}

interface Value {
  readonly text: Uint8Array;
  /** Undefined if only the text can tell, as it is not of an event. */
  readonly isError?: boolean;
}

async function* valuesOf(response: Response, reading: Reading): AsyncGenerator<Value> {
  const { readMaxBytes: valueBytesMax } = reading;
  const type = jsonTypeOf(response, eventStream, "text/plain"); // Go's, if none is set
  const chunks = chunksOf(response);
  if (type === eventStream) return yield* readEvents(chunks, valueBytesMax);
  const split = type === "application/x-ndjson" ? splitLines : splitValues;
  for await (const text of split(chunks, { valueBytesMax })) yield { text };
}

const eventStream = "text/event-stream";

/** https://html.spec.whatwg.org/multipage/server-sent-events.html. One of type `end` is the last. */
async function* readEvents(
  chunks: AsyncGenerator<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Value> {
  let event = "";
  let data: BodyBuffer | undefined;
  let isAmid = false;
  const limits = { valueBytesMax: "data: \r".length + bytesMax };
  for await (const raw of splitLines(chunks, limits, () => true)) {
    const line = raw.at(-1) === 0x0d ? raw.subarray(0, -1) : raw;
    if (line.length === 0) {
      const isError = event === "error";
      const text = data && ascii.decode(data.bytes.subarray(0, 7));
      if (text === "[DONE]" && !isError) return; // of APIs of language models
      if (text === "null" && event === "end") return; // our own
      if (isError || data?.length) yield { text: data?.bytes ?? line, isError };
      if (event === "end") return;
      event = "";
      data = undefined;
      isAmid = false;
      continue;
    }
    const colon = line.includes(0x3a) ? line.indexOf(0x3a) : line.length;
    isAmid ||= colon > 0; // not a comment
    // A grpc-gateway whose media type and delimiter alone were changed writes no names.
    const isBare = line[0] === 0x7b;
    const name = isBare ? "data" : ascii.decode(line.subarray(0, colon));
    const value = isBare ? line : line.subarray(colon + (line[colon + 1] === 0x20 ? 2 : 1));
    if (name === "event") event = ascii.decode(value);
    if (name !== "data") continue;
    if (data === undefined) data = new BodyBuffer();
    else void data.append(Uint8Array.of(0x0a));
    if (data.length + value.length > bytesMax) throw messageTooLarge(bytesMax);
    void data.append(value);
  }
  if (isAmid) throw new ConnectError("the response ended amid an event", Code.Internal);
}

const ascii = new TextDecoder();
