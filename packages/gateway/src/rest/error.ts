import { create, createRegistry, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { type Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { type RetryInfo, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { connectErrorFrom } from "../call/outcome.ts";

/** An error of a REST call: what an RPC call would have got, and its HTTP status. */
export interface RestError {
  readonly status: number;
  readonly error: ConnectError;
}

/** What a client gets for an error. */
export interface RenderedError {
  readonly status: number;
  readonly body: JsonValue;
  /** Of the whole answer, as `application/problem+json`. Default: `application/json`. */
  readonly contentType?: string;
}

export type RenderError = (error: RestError) => RenderedError;

/**
 * Thrown where HTTP has a status of its own that no code maps to: 413, 415, … To interceptors it
 * is a ConnectError, as anything else that is wrong with a request.
 */
export class RestFailure extends ConnectError {
  readonly status: number;
  /** Headers that the answer must have; those in an error's metadata are the application's. */
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

  /** That of ConnectError takes all that look like one. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && Object.getPrototypeOf(value) === RestFailure.prototype;
  }
}

/** The REST error of what a call threw. */
export function restErrorFrom(reason: unknown): RestError {
  if (reason instanceof RestFailure) return { status: reason.status, error: reason };
  const error = connectErrorFrom(reason);
  return { status: codeToHttpStatus(error.code), error };
}

/** The default rendering: `google.rpc.Status` in JSON, as of https://google.aip.dev/193. */
export function renderStatus({ status, error }: RestError) {
  const details = error.details.map(renderDetail);
  return {
    status,
    body: { code: error.code, message: error.rawMessage, details },
  } satisfies RenderedError;
}

/** A google.protobuf.Any; of a type that is not known here, its bytes. */
function renderDetail(detail: ConnectError["details"][number]): JsonValue {
  const isOurs = "desc" in detail;
  const bytes = isOurs ? toBinary(detail.desc, create(detail.desc, detail.value)) : detail.value;
  const typeUrl = `type.googleapis.com/${isOurs ? detail.desc.typeName : detail.type}`;
  const any = create(AnySchema, { typeUrl, value: bytes });
  try {
    if (isOurs) return toJson(AnySchema, any, { registry: createRegistry(detail.desc) });
  } catch {
    // What JSON has no form for (an Any within, for example) goes as bytes, too.
  }
  return { "@type": typeUrl, value: base64Encode(bytes) };
}

/** What `google.rpc.RetryInfo` in the details says, in whole seconds, not less than it says. */
export function retryAfterSeconds(error: ConnectError): number | undefined {
  for (const detail of error.details) {
    if (!("desc" in detail) || detail.desc.typeName !== RetryInfoSchema.typeName) continue;
    const { retryDelay } = create(RetryInfoSchema, detail.value as RetryInfo);
    if (retryDelay === undefined) continue;
    return Number(retryDelay.seconds) + (retryDelay.nanos > 0 ? 1 : 0);
  }
  return undefined;
}
