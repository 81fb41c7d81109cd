import { Code, ConnectError } from "@connectrpc/connect";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";

/** What a call that failed means for the row that it was about. */
export type Verdict =
  /** The server will not have this row, whenever it is asked. */
  | { readonly kind: "refused"; readonly reason: string }
  /** It may have it later. `delayMs` is how long the server wants to be left alone. */
  | { readonly kind: "passing"; readonly reason: string; readonly delayMs: number }
  /** It would have no row of ours. */
  | { readonly kind: "hopeless"; readonly reason: string };

export function judge(error: unknown): Verdict {
  if (!(error instanceof ConnectError)) throw error;
  if (!isAnswer(error)) return judgeConnection(error);
  const reason = error.rawMessage;
  switch (error.code) {
    case Code.InvalidArgument:
    case Code.AlreadyExists:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
      return { kind: "refused", reason };
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return { kind: "hopeless", reason: `the server refuses the token: ${reason}` };
    case Code.Unimplemented:
    case Code.NotFound:
      return {
        kind: "hopeless",
        reason: `there is no plant store at the URL, or it has a path that is missing here: ${reason}`,
      };
    case Code.ResourceExhausted: {
      // Of a server that is busy; without a time to wait, the row itself is too much.
      const delayMs = retryDelayMs(error);
      return delayMs === undefined
        ? { kind: "refused", reason }
        : { kind: "passing", reason, delayMs };
    }
    default:
      return { kind: "passing", reason, delayMs: retryDelayMs(error) ?? 0 };
  }
}

/** What a server says of a call comes with headers; what our side says of a connection has none. */
function isAnswer({ metadata }: ConnectError): boolean {
  return !metadata.keys().next().done;
}

function judgeConnection(error: ConnectError): Verdict {
  const codes = causesOf(error).flatMap((cause) => ("code" in cause ? String(cause.code) : []));
  const ofTls = codes.find((code) => /CERT|SELF_SIGNED|^ERR_(TLS|SSL)_/.test(code));
  if (ofTls !== undefined) {
    return {
      kind: "hopeless",
      reason: `no TLS that is trusted with the server (${ofTls}); check the URL, and --ca`,
    };
  }
  // The last is the nearest to the network: ECONNREFUSED tells more than what was made of it.
  // The codes of HTTP/2 tell less: one stands for every way in which a stream may be reset.
  const code = codes.findLast((name) => /^(?!ERR_HTTP2_)[A-Z]/.test(name));
  return { kind: "passing", reason: code ?? error.rawMessage, delayMs: 0 };
}

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = [];
  for (let one = error; one instanceof Error && !causes.includes(one); one = one.cause) {
    causes.push(one);
  }
  return causes;
}

function retryDelayMs(error: ConnectError): number | undefined {
  const [info] = error.findDetails(RetryInfoSchema);
  if (info?.retryDelay !== undefined) {
    return Number(info.retryDelay.seconds) * 1000 + info.retryDelay.nanos / 1_000_000;
  }
  const header = error.metadata.get("retry-after");
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined;
}
