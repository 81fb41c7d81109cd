import { createRegistry, fromBinary, type Registry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BodyBudget, RestFailure } from "connect-gateway";
import { AnswerError } from "connect-gateway/client";
import { file_google_rpc_error_details } from "connect-gateway/protos";
import { addFields } from "./metadata.ts";

type Detail = ConnectError["details"][number];

const commonDetails = createRegistry(file_google_rpc_error_details);

/**
 * The error that a caller of the proxy gets for one of its call to the upstream. What the upstream
 * answered goes on as it is. Where it answered nothing, the caller is not told the addresses and
 * reasons of the network behind the proxy: they are in the cause.
 *
 * @param registry Of the details: one of a type that it knows is JSON over REST, not bytes.
 */
export function forwardedError(reason: unknown, registry: Registry): unknown {
  if (reason instanceof AnswerError) {
    const metadata = new Headers();
    addFields(metadata, reason.trailer);
    const error = new ConnectError(reason.rawMessage, reason.code, metadata, undefined, reason);
    error.details = reason.details.map((detail) => known(detail, registry));
    return error;
  }
  if (!(reason instanceof ConnectError) || BodyBudget.isRefusal(reason)) return reason;
  switch (reason.code) {
    case Code.Unavailable:
      return new ConnectError("the upstream is away", reason.code, undefined, undefined, reason);
    case Code.ResourceExhausted:
      if (isReset(reason)) return reason;
      // An answer over the limit. The status of the code is 429, which asks for a retry.
      return new RestFailure(
        500,
        reason.code,
        `the upstream's response is too large: ${reason.rawMessage}`,
      );
    default:
      return reason;
  }
}

/** An upstream that has too much to do says so by ENHANCE_YOUR_CALM, which has the same code. */
function isReset({ cause }: ConnectError): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ERR_HTTP2_STREAM_ERROR";
}

function known(detail: Detail, registry: Registry): Detail {
  if ("desc" in detail) return detail;
  const desc = registry.getMessage(detail.type) ?? commonDetails.getMessage(detail.type);
  if (desc === undefined) return detail;
  try {
    return { desc, value: fromBinary(desc, detail.value) };
  } catch {
    return detail; // another type of that name
  }
}
