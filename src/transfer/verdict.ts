import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { AnswerError } from "connect-gateway/client";
import { RetryInfoSchema } from "connect-gateway/protos";

/** What a failed call means for its row. */
export type Verdict =
  /** The server will never accept this row. */
  | { readonly kind: "rejected"; readonly reason: string }
  /** A retry may succeed. `delayMs` is the server's requested delay. */
  | { readonly kind: "temporary"; readonly reason: string; readonly delayMs: number }
  /** The server would accept none of our rows. */
  | { readonly kind: "fatal"; readonly reason: string };

export function judge(error: unknown): Verdict {
  if (!(error instanceof ConnectError)) throw error;
  if (!(error instanceof AnswerError)) return judgeConnection(error);
  const reason = error.rawMessage;
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.AlreadyExists:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
      return { kind: "rejected", reason };
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return fatal(`the server rejects the token: ${reason}`);
    case Code.Unimplemented:
    case Code.NotFound:
      return fatal(`there is no plant store at the URL; if it has a base path, add it: ${reason}`);
    case Code.ResourceExhausted: {
      // With a delay the server is busy. Without one, the row itself is too large.
      const delayMs = retryDelayMs(error);
      return delayMs === undefined
        ? { kind: "rejected", reason }
        : { kind: "temporary", reason, delayMs };
    }
    default:
      return { kind: "temporary", reason, delayMs: retryDelayMs(error) ?? 0 };
  }
}

function judgeConnection(error: ConnectError): Verdict {
  const causes: Error[] = [];
  for (let one: unknown = error; one instanceof Error && !causes.includes(one); one = one.cause) {
    causes.push(one);
  }
  const codes = causes.flatMap((cause) => ("code" in cause ? String(cause.code) : []));
  const ofTls = codes.find((code) => /CERT|SELF_SIGNED|^ERR_(TLS|SSL)_/.test(code));
  const advice = "check the URL, or set --ca";
  if (ofTls !== undefined)
    return fatal(`cannot make a trusted TLS connection (${ofTls}); ${advice}`);
  // HTTP/2 codes say less than their causes: one stands for many.
  const code = codes.find((name) => /^(?!ERR_HTTP2_|EPROTO)[A-Z]/.test(name));
  return { kind: "temporary", reason: code ?? error.rawMessage, delayMs: 0 };
}

function fatal(reason: string): Verdict {
  return { kind: "fatal", reason };
}

function retryDelayMs(error: ConnectError): number | undefined {
  const [info] = error.findDetails(RetryInfoSchema);
  if (info?.retryDelay !== undefined) return durationMs(info.retryDelay);
  const header = error.metadata.get("retry-after");
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}
