import { create, type JsonValue, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus } from "@connectrpc/connect/protocol-connect";

/** An error of a REST call: what an RPC call would have got, and its HTTP status. */
export interface RestError {
  readonly status: number;
  readonly error: ConnectError;
}

/** What a client gets for an error. */
export interface RenderedError {
  readonly status: number;
  readonly body: JsonValue;
}

/** Thrown where HTTP has a status of its own that no code maps to: 413, 415, … */
export class RestFailure extends Error implements RestError {
  override readonly name = "RestFailure";
  readonly status: number;
  readonly error: ConnectError;

  constructor(status: number, code: Code, message: string, header?: Record<string, string>) {
    super(message);
    this.status = status;
    this.error = new ConnectError(message, code, header);
  }
}

/** Anything that is not an error meant for the client leaves as "internal error". */
export function restErrorFrom(reason: unknown): RestError {
  if (reason instanceof RestFailure) return reason;
  const error =
    reason instanceof ConnectError
      ? reason
      : new ConnectError("internal error", Code.Internal, undefined, undefined, reason);
  return { status: codeToHttpStatus(error.code), error };
}

/** The default rendering: `google.rpc.Status` in JSON, as of https://google.aip.dev/193. */
export function renderStatus({ status, error }: RestError): RenderedError {
  const details = error.details.flatMap((detail): JsonValue[] => {
    if (!("desc" in detail)) return [];
    const fields = toJson(detail.desc, create(detail.desc, detail.value));
    return [{ "@type": `type.googleapis.com/${detail.desc.typeName}`, ...(fields as object) }];
  });
  return { status, body: { code: error.code, message: error.rawMessage, details } };
}
