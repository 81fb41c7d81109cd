import type { Registry } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { trailerMux } from "@connectrpc/connect/protocol-connect";
import { smallResponse } from "../http/body.ts";
import type { Response } from "../http/exchange.ts";
import { toNodeHeaders } from "../http/headers.ts";
import { type RenderError, RestFailure, restErrorFrom, retryAfterSeconds } from "./http-error.ts";

/** By it an implementation, or a proxied server, sets the status of one answer. As in grpc-gateway. */
export const statusHeader = "x-http-code";

/** The answer for an error, of any face that renders it. @param context What the call has set. */
export function errorResponse(
  reason: unknown,
  {
    renderError,
    registry,
  }: { readonly renderError: RenderError; readonly registry?: Registry | undefined },
  context?: Pick<HandlerContext, "responseHeader" | "responseTrailer">,
): Response {
  const restError = restErrorFrom(reason, registry);
  const { status, body, contentType = "application/json" } = renderError(restError);
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
  return smallResponse(status, JSON.stringify(body), toNodeHeaders(header), restError.error);
}
