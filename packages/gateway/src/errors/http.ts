import {
  create,
  createRegistry,
  type JsonValue,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJson, trailerMux } from "@connectrpc/connect/protocol-connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { messageToJson } from "../codec/json-messages.ts";
import { smallResponse } from "../http/body.ts";
import type { Response } from "../http/exchange.ts";
import { type NodeHeaders, toNodeHeaders } from "../http/headers.ts";
import { connectErrorFrom } from "./errors.ts";

/** An error of a REST call: the error that an RPC call would get, and its HTTP status. */
export interface RestError {
  readonly status: number;
  readonly error: ConnectError;
  /** The details of an error as JSON, each a `google.protobuf.Any`. Not made before they are wanted. */
  readonly details: (error: ConnectError) => JsonValue[];
}

/** The answer to a client for an error. */
export interface RenderedError {
  readonly status: number;
  readonly body: JsonValue;
  /** The media type of the answer, such as `application/problem+json`. Default: `application/json`. */
  readonly contentType?: string;
}

export type RenderError = (error: RestError) => RenderedError;

/** Has an HTTP status that no code maps to: 413, 415, … To interceptors, it is a ConnectError. */
export class RestFailure extends ConnectError {
  readonly status: number;
  /** Headers that the answer must have. The headers in an error's metadata belong to the application. */
  readonly header: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: Code,
    message: string,
    header: Readonly<Record<string, string>> = {},
  ) {
    super(message, code);
    this.status = status;
    this.header = header;
  }

  /** ConnectError's own check accepts everything that looks like a ConnectError. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && Object.getPrototypeOf(value) === RestFailure.prototype;
  }
}

/** @param registry The types of the gateway, for a `google.protobuf.Any` in the details. */
export function restErrorFrom(reason: unknown, registry?: Registry): RestError {
  let error = connectErrorFrom(reason);
  const status = reason instanceof RestFailure ? reason.status : codeToHttpStatus(error.code);
  // An answer over a limit. To a client of REST, its code says the same as its status.
  if (status === 500 && reason instanceof RestFailure) {
    error = new ConnectError(reason.rawMessage, Code.Internal);
  }
  const details = (of: ConnectError) => of.details.map((one) => renderDetail(one, registry));
  return { status, error, details };
}

/** The default rendering: `google.rpc.Status` in JSON, as in https://google.aip.dev/193. */
export function renderStatus({ status, error, details }: RestError) {
  return {
    status,
    body: { code: error.code, message: error.rawMessage, details: details(error) },
  } satisfies RenderedError;
}

/** As the Connect protocol has it. */
export function renderConnect({ status, error }: RestError) {
  return { status, body: errorToJson(error, undefined) } satisfies RenderedError;
}

/** A google.protobuf.Any. If its type is unknown here, contains its bytes. */
function renderDetail(
  detail: ConnectError["details"][number],
  registry: Registry | undefined,
): JsonValue {
  const isOurs = "desc" in detail;
  const bytes = isOurs ? toBinary(detail.desc, create(detail.desc, detail.value)) : detail.value;
  const typeUrl = `type.googleapis.com/${isOurs ? detail.desc.typeName : detail.type}`;
  const any = create(AnySchema, { typeUrl, value: bytes });
  try {
    if (isOurs) {
      const isKnown = registry?.getMessage(detail.desc.typeName) !== undefined;
      // To copy a whole registry costs more than the rest of an error.
      const types = isKnown ? registry : createRegistry(registry ?? createRegistry(), detail.desc);
      return messageToJson(AnySchema, any, { registry: types });
    }
  } catch {
    // It has no JSON form: it may contain an Any of an unknown type.
  }
  return { "@type": typeUrl, value: base64Encode(bytes) };
}

/** The delay of `google.rpc.RetryInfo` in the details, rounded up to whole seconds. */
export function retryAfterSeconds(error: ConnectError): number | undefined {
  const [delay] = error.findDetails(RetryInfoSchema).flatMap((info) => info.retryDelay ?? []);
  return delay && Number(delay.seconds) + (delay.nanos > 0 ? 1 : 0);
}

export const problemType = "application/problem+json";

/**
 * Renders errors as `application/problem+json`, RFC 9457. Use it as `rest.renderError`. The type is
 * `about:blank`, the title is that of the status, and the members `code` and `details` are those of
 * `google.rpc.Status`.
 */
export function renderProblem({ status, error, details }: RestError): RenderedError {
  const [, title] = new RegExp(`\\b${status} ([^,]*)`).exec(phrases) ?? [];
  return {
    status,
    contentType: problemType,
    body: {
      type: "about:blank",
      ...(title !== undefined && { title }),
      status,
      ...(error.rawMessage !== "" && { detail: error.rawMessage }),
      code: error.code,
      details: details(error),
    },
  };
}

/** The reason phrases of RFC 9110, as far as errors have them. */
const phrases =
  "400 Bad Request, 401 Unauthorized, 402 Payment Required, 403 Forbidden, 404 Not Found, " +
  "405 Method Not Allowed, 406 Not Acceptable, 407 Proxy Authentication Required, " +
  "408 Request Timeout, 409 Conflict, 410 Gone, 411 Length Required, 412 Precondition Failed, " +
  "413 Payload Too Large, 414 URI Too Long, 415 Unsupported Media Type, " +
  "416 Range Not Satisfiable, 417 Expectation Failed, 421 Misdirected Request, " +
  "422 Unprocessable Entity, 423 Locked, 424 Failed Dependency, 425 Too Early, " +
  "426 Upgrade Required, 428 Precondition Required, 429 Too Many Requests, " +
  "431 Request Header Fields Too Large, 451 Unavailable For Legal Reasons, " +
  "500 Internal Server Error, 501 Not Implemented, 502 Bad Gateway, 503 Service Unavailable, " +
  "504 Gateway Timeout, 505 HTTP Version Not Supported, 507 Insufficient Storage, " +
  "511 Network Authentication Required";

/** By it an implementation, or a proxied server, sets the status of one answer. As in grpc-gateway. */
export const statusHeader = "x-http-code";

/** Whether an answer with this status has no body: RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** Without the headers that describe a body. Content-Length is allowed with 205: RFC 9110 section 8.6. */
export function bodilessResponse(status: number, given: NodeHeaders): Response {
  const { "content-type": _type, "content-length": _length, ...header } = given;
  return status === 205 ? smallResponse(status, "", header) : { status, header, body: "" };
}

/** What `renderError` returns. @throws {RangeError} if it has no valid status, as a promise has none. */
export function rendered(made: RenderedError): RenderedError {
  if (made instanceof Promise)
    made.catch(() => {}); // nobody waits for it
  else if (/^[2-5]\d\d$/.test(`${made.status}`)) return made;
  throw new RangeError(`renderError must return a status, and no promise: ${made.status}`);
}

/** The answer for an error, of any face that renders it. @param context What the call has set. */
export function errorResponse(
  reason: unknown,
  by: { readonly renderError: RenderError; readonly registry?: Registry | undefined },
  context?: Pick<HandlerContext, "responseHeader" | "responseTrailer">,
): Response {
  const restError = restErrorFrom(reason, by.registry);
  const { status, body, contentType = "application/json" } = rendered(by.renderError(restError));
  const header = context
    ? trailerMux(context.responseHeader, context.responseTrailer)
    : new Headers();
  // They are about the answer that the implementation had in mind.
  for (const name of ["content-encoding", statusHeader]) header.delete(name);
  // If another service answered with this error, its headers are not ours to forward.
  if (!restError.error.isWireError) mergeNonProtocolHeaders(header, restError.error.metadata);
  if (reason instanceof RestFailure) {
    for (const [name, value] of Object.entries(reason.header)) header.set(name, value);
  }
  const retryAfter = retryAfterSeconds(restError.error);
  if ((retryAfter !== undefined || status === 503) && !header.has("retry-after")) {
    header.set("retry-after", String(retryAfter ?? 1));
  }
  // RFC 9110 section 15.5.2.
  if (status === 401 && !header.has("www-authenticate")) header.set("www-authenticate", "Bearer");
  header.set("content-type", contentType);
  const [fields, { error }] = [toNodeHeaders(header), restError];
  if (isBodiless(status)) return { ...bodilessResponse(status, fields), error };
  return smallResponse(status, JSON.stringify(body), fields, error);
}
