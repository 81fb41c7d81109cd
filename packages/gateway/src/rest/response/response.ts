import { base64Encode } from "@bufbuild/protobuf/wire";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import type { HttpBody } from "../../../gen/google/api/httpbody_pb.ts";
import { answerTooLarge } from "../../codec/codec.ts";
import { messageToJson } from "../../codec/json-messages.ts";
import { isJsonObject } from "../../codec/json-text.ts";
import { bodilessResponse, isBodiless, RestFailure, statusHeader } from "../../errors/http.ts";
import { type Body, byteLengthOf, bytesOf } from "../../http/body.ts";
import type { Response } from "../../http/exchange.ts";
import type { HeaderRecord } from "../../http/headers.ts";
import { type Call, headerWithTrailer, type Message } from "../../rpc/call.ts";
import { isSuccess, neededHeaders } from "../options.ts";
import type { Rest } from "../request/request.ts";
import { getHttpBody } from "../rule/http-body.ts";
import { type AnswerCoding, chooseCoding, textTypes } from "./answer-coding.ts";

const jsonType = "application/json";

/**
 * The response for one message. Clients do not look at HTTP trailers, so these become headers that
 * begin with `trailer-`, as in Connect.
 * @throws {RestFailure} 500 above `writeMaxBytes`.
 */
export function messageResponse(
  rest: Rest,
  message: Message,
  context: Call,
): Response | Promise<Response> {
  const { options, settings } = rest;
  const { responseHeader } = context;
  const isPlain = responseHeader.source !== undefined;
  const status = isPlain
    ? rest.status
    : takeStatus(responseHeader, rest.status, { mayBeEmpty: true });
  if (status > 200 && isBodiless(status)) {
    return bodilessResponse(status, headerWithTrailer(context));
  }
  const { contentType, data }: { contentType: string; data: Body } = rest.isHttpBody.answer
    ? httpBodyOf(rest, message)
    : { contentType: jsonType, data: messageText(rest, message) };
  const size = byteLengthOf(data);
  if (size > options.writeMaxBytes) {
    // Not the status of the code, 429: it asks for a retry, which would get the same answer again.
    const { code, rawMessage } = answerTooLarge(size, options.writeMaxBytes);
    throw new RestFailure(500, code, rawMessage);
  }
  // Our own type needs no check. The type of a google.api.HttpBody may not even be a valid header.
  const isJson = contentType === jsonType;
  if (!isJson && contentType !== "") context.responseHeader.set("content-type", contentType);
  const own = headerWithTrailer(context);
  const header: HeaderRecord = isJson ? { ...own, "content-type": jsonType } : { ...own };
  // If the implementation has already compressed the body, decoding another coding would leave it
  // compressed.
  const isPacked = header["content-encoding"] !== undefined;
  const type = String(header["content-type"] ?? "");
  const isLarge = size >= options.compressMinBytes && !isPacked && textTypes.test(type);
  if (isLarge) header["vary"] = [header["vary"] ?? [], "accept-encoding"].flat().join(", ");
  const accepted = isLarge ? context.requestHeader.get("accept-encoding") : null;
  const coding = accepted === null ? undefined : chooseCoding(accepted, rest.answerCodings);
  const finish = (isKnown: boolean) => {
    if (isKnown) return bodilessResponse(304, header);
    if (coding !== undefined) return compressed({ status, header, body: data }, coding);
    return { status, header: { ...header, "content-length": size }, body: data };
  };
  const isTagged = settings.etag && status < 300 && status !== 206;
  return isTagged ? isKnown(context, header, data).then(finish) : finish(false);
}

/** Removes the header that says the status. @throws {Error} for one that is none of success. */
export function takeStatus(
  header: Headers,
  usual: number,
  { mayBeEmpty }: { readonly mayBeEmpty: boolean },
): number {
  const text = header.get(statusHeader);
  if (text === null) return usual;
  header.delete(statusHeader);
  const status = /^\d{3}$/.test(text) ? Number(text) : Number.NaN;
  const needed = neededHeaders.get(status);
  if (!(isSuccess(status) || status === 206) || (isBodiless(status) && !mayBeEmpty)) {
    throw new Error(`${statusHeader} ${text} is no status of success for this answer`);
  }
  if (needed !== undefined && !header.has(needed)) {
    throw new Error(`${statusHeader} ${text} needs the header ${needed}`);
  }
  return status;
}

async function compressed(whole: Response, coding: AnswerCoding): Promise<Response> {
  const body = await coding.compress(bytesOf(whole.body));
  const about = { "content-encoding": coding.name, "content-length": byteLengthOf(body) };
  return { ...whole, header: { ...whole.header, ...about }, body };
}

export function httpBodyOf({ spec, binding }: Rest, message: Message): HttpBody {
  return getHttpBody(spec.method.output, message, binding.responseBody);
}

export function messageText({ spec, binding, writerOptions }: Rest, message: Message): string {
  const { responseBody } = binding;
  const { output } = spec.method;
  const json = messageToJson(output, message, writerOptions);
  if (responseBody === undefined) return JSON.stringify(json);
  const name = writerOptions.useProtoFieldName ? responseBody.name : responseBody.jsonName;
  if (isJsonObject(json) && Object.hasOwn(json, name)) return JSON.stringify(json[name]);
  // An unset field: its zero value, or null where that would be a value.
  const zeros = messageToJson(output, message, { ...writerOptions, alwaysEmitImplicit: true });
  if (isJsonObject(zeros) && Object.hasOwn(zeros, name)) return JSON.stringify(zeros[name]);
  const isMessage = responseBody.fieldKind === "message";
  return isMessage && !hasCustomJsonRepresentation(responseBody.message) ? "{}" : "null";
}

/**
 * Adds an ETag (RFC 9110 section 8.8.3) of the body before compression to the answer to a GET or
 * HEAD, unless it has one.
 * @returns whether the client already has this answer.
 */
async function isKnown(call: Call, header: HeaderRecord, body: Body): Promise<boolean> {
  const { requestMethod, requestHeader } = call;
  if (requestMethod !== "GET" && requestMethod !== "HEAD") return false;
  header["etag"] ??= await entityTagOf(body);
  const known = requestHeader.get("if-none-match");
  return known !== null && includesTag(known, String(header["etag"]));
}

/** Weak, because it is the same for all codings, whose bytes differ. */
async function entityTagOf(body: Body): Promise<string> {
  const bytes = bytesOf(body) as Uint8Array<ArrayBuffer>;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `W/"${base64Encode(digest, "url").slice(0, 22)}"`; // 132 bits
}

/** By weak comparison, section 8.8.3.2. */
function includesTag(list: string, tag: string): boolean {
  if (list.trim() === "*") return true;
  return list.match(/"[^"]*"/g)?.includes(tag.replace(/^W\//, "")) ?? false;
}
